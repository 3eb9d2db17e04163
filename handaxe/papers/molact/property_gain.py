"""Rewards a molecule for how much better its property is than that of another."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.papers.molact.molecule import PROPERTIES, property_of, read_molecule
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text

__all__ = ["THRESHOLDS", "property_gain"]

THRESHOLDS = {"logp": 0.5, "qed": 0.3}
"""The gain that is worth 1, by property; those of the paper's code."""


def property_gain(
    *,
    source: Callable[[Task], str],
    name: Callable[[Task], str] | str = "logp",
    threshold: float | None = None,
    extract: Callable[[Trajectory], str] = final_text,
) -> Reward:
    """Give the gain of a property, in parts of what is worth 1.

        R_i = min(1, max(0, (p(m_i) - p(s)) / threshold))

    m_i is the molecule that the trajectory says, s the one that is to be improved, p the property.

    Args:
        source: SMILES of the molecule to improve.
        name: of the property: logp or qed, or a function of the task that says which.
        threshold: the gain that is worth 1, > 0; None: 0.5 of logp and 0.3 of qed, as in the paper's code.
        extract: where the SMILES stands in a trajectory; one of more than 200 characters is not read.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or no molecule: 0.

    Raises:
        TaskError: a task whose source is no molecule, or with a property that is not known.
        InputError: threshold not above 0; rdkit is not installed (extra [chem]).

    Example:
        threshold 0.5, a logP of 1.0 before and 1.3 after -> 0.6; from CCO (-0.0014) to CCC (1.4163) -> 1, back -> 0

    Paper: arXiv:2512.20135 (MolAct), its released code: its reward of optimisation.
    Differs: of its six properties, the two that need no trained model.
    """
    if threshold is not None and not threshold > 0:
        raise InputError(f"threshold is {threshold}; give what gain is worth 1, above 0")

    def score(trajectory: Trajectory) -> float:
        task = trajectory.task
        asked = name if isinstance(name, str) else name(task)
        before, after = read_molecule(source(task)), read_molecule(extract(trajectory))
        if before is None or asked not in PROPERTIES:
            raise TaskError(
                f"task {task.id!r} needs a molecule and a property of {PROPERTIES}: {source(task)!r}, {asked}"
            )
        if after is None:
            return 0.0
        gain = property_of(after, asked) - property_of(before, asked)
        return min(1.0, max(0.0, gain / (THRESHOLDS[asked] if threshold is None else threshold)))

    return outcome(score)
