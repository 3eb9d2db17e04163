"""Reward for the improvement of a molecular property."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.papers.molact.molecule import PROPERTIES, compute_property, read_molecule
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text

__all__ = ["THRESHOLDS", "property_gain"]

THRESHOLDS = {"logp": 0.5, "qed": 0.3}
"""Property -> gain that earns 1, from the paper's code."""


def property_gain(
    *,
    source: Callable[[Task], str],
    name: Callable[[Task], str] | str = "logp",
    threshold: float | None = None,
    extract: Callable[[Trajectory], str] = final_text,
) -> Reward:
    """Score the gain of a property, relative to a threshold.

        R_i = min(1, max(0, (p(m_i) - p(s)) / threshold))

    m_i is the molecule of the trajectory's answer, s the molecule to improve, p the property.

    Args:
        source: task -> SMILES of the molecule to improve.
        name: "logp" or "qed", or a function of the task that returns one of them.
        threshold: gain that earns 1, > 0; None: 0.5 for logp and 0.3 for qed, as in the paper's code.
        extract: trajectory -> SMILES; longer than 200 characters is not parsed.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or no molecule: 0.

    Raises:
        TaskError: the task's source is no molecule, or its property is unknown.
        InputError: a threshold not above 0; rdkit is not installed (extra [chem]).

    Example:
        threshold 0.5, a logP of 1.0 before and 1.3 after -> 0.6; from CCO (-0.0014) to CCC (1.4163) -> 1, back -> 0

    Paper: arXiv:2512.20135 (MolAct), the optimization reward of its released code.
    Differs: of its six properties, the two that need no trained model.
    """
    if threshold is not None and not threshold > 0:
        raise InputError(f"threshold is {threshold}; give a gain above 0")

    def score(trajectory: Trajectory) -> float:
        task = trajectory.task
        property_name = name if isinstance(name, str) else name(task)
        before, after = read_molecule(source(task)), read_molecule(extract(trajectory))
        if before is None or property_name not in PROPERTIES:
            raise TaskError(
                f"task {task.id!r} needs a molecule and a property of {PROPERTIES}: {source(task)!r}, {property_name}"
            )
        if after is None:
            return 0.0
        gain = compute_property(after, property_name) - compute_property(before, property_name)
        return min(1.0, max(0.0, gain / (THRESHOLDS[property_name] if threshold is None else threshold)))

    return outcome(score)
