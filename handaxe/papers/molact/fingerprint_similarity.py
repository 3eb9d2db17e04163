"""Reward for the structural similarity of two molecules."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.papers.molact.molecule import alike, read_molecule
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text

__all__ = ["fingerprint_similarity"]


def fingerprint_similarity(
    *,
    source: Callable[[Task], str],
    scaffold: bool = False,
    extract: Callable[[Trajectory], str] = final_text,
) -> Reward:
    """Score the Tanimoto similarity of Morgan fingerprints to the task's molecule.

        R_i = |F(m_i) & F(s)| / |F(m_i) | F(s)|        F: bits set of a fingerprint of radius 2 and 2048 bits

    m_i is the molecule of the trajectory's answer, s that of the task.

    Args:
        source: task -> SMILES of its molecule.
        scaffold: compare Murcko scaffolds, rings and their links, instead of whole molecules. Molecules without a ring
            share the empty scaffold.
        extract: trajectory -> SMILES; longer than 200 characters is not parsed.

    Returns:
        A reward with outcome [G] in [0, 1]. No turn, or no molecule: 0.

    Raises:
        TaskError: the task's source is no molecule.
        InputError: rdkit is not installed (extra [chem]).

    Example:
        source CCO: "OCC" -> 1, "CCN" -> 1/3, "CC(" -> 0;  scaffold, source c1ccccc1O: "c1ccccc1N" -> 1, "CCN" -> 0

    Paper: arXiv:2512.20135 (MolAct), its released code: whole molecules for edits, scaffolds for optimization.
    Unconfirmed: the comparison of molecules without a ring.
    Differs: nothing known.
    """

    def score(trajectory: Trajectory) -> float:
        task = trajectory.task
        reference, answer = read_molecule(source(task)), read_molecule(extract(trajectory))
        if reference is None:
            raise TaskError(f"task {task.id!r} needs a molecule to compare with: {source(task)!r}")
        return 0.0 if answer is None else alike(answer, reference, scaffold=scaffold)

    return outcome(score)
