"""Reward for a requested change of functional groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, Trajectory
from handaxe.papers.molact.molecule import group_count, read_molecule
from handaxe.rewards.parts.checks import call_score
from handaxe.rewards.parts.extract import final_text

__all__ = ["group_count_change"]


def group_count_change(
    *,
    source: Callable[[Task], str],
    change: Callable[[Task], Mapping[str, int]],
    extract: Callable[[Trajectory], str] = final_text,
) -> Reward:
    """Score 1 for a molecule with the requested change of functional groups, else 0.

        R_i     = 1 if count(g, m_i) - count(g, s) = d_g for every g of change(task), else 0
        valid_i = 1 if m_i is a molecule, else 0

    m_i is the molecule of the trajectory's answer, s the molecule to edit; other groups and the rest may change. Adding
    a group is {g: 1}, deleting it {g: -1}, replacing g by h {g: -1, h: 1}.

    Args:
        source: task -> SMILES of the molecule to edit.
        change: task -> group (a name of GROUPS, or a SMARTS) -> change of its count.
        extract: trajectory -> SMILES; longer than 200 characters is not parsed.

    Returns:
        A reward with outcome [G] of 0 and 1 and the channel "valid". No turn, or no molecule: 0 and 0.

    Raises:
        TaskError: the task's source is no molecule, or no change is requested.
        InputError: rdkit is not installed (extra [chem]).

    Example:
        source CCO, change {hydroxyl: 1}: "OCCO" -> 1, "CCO" -> 0, "CCOO(" -> 0 and not valid

    Paper: arXiv:2512.20135 (MolAct), the check of edits in its released code.
    Differs: nothing known.
    """

    def score(trajectory: Trajectory) -> tuple[float, float]:
        task = trajectory.task
        before, after = read_molecule(source(task)), read_molecule(extract(trajectory))
        changes = change(task)
        if before is None or not changes:
            raise TaskError(f"task {task.id!r} needs a molecule to edit and a change: {source(task)!r}, {changes}")
        if after is None:
            return 0.0, 0.0
        correct = all(group_count(after, one) - group_count(before, one) == by for one, by in changes.items())
        return float(correct), 1.0

    def reward(group: Group) -> Scores:
        found = np.array([call_score(score, one) for one in group], dtype=np.float64).reshape(len(group), 2)
        return Scores(found[:, 0].copy(), channels={"valid": found[:, 1].copy()})

    return reward
