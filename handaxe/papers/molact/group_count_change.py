"""Rewards a molecule that differs from another by the functional groups that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, Trajectory
from handaxe.papers.molact.molecule import group_count, read_molecule
from handaxe.rewards.parts.checks import called_with
from handaxe.rewards.parts.extract import final_text

__all__ = ["group_count_change"]


def group_count_change(
    *,
    source: Callable[[Task], str],
    change: Callable[[Task], Mapping[str, int]],
    extract: Callable[[Trajectory], str] = final_text,
) -> Reward:
    """Give 1 to a molecule with the wanted change of functional groups, else 0.

        R_i     = 1 if count(g, m_i) - count(g, s) = d_g for every g of change(task), else 0
        valid_i = 1 if m_i is a molecule, else 0

    m_i is what the trajectory says, s the molecule that is to be edited; other groups and the rest may change. To add a
    group is {g: 1}, to delete it {g: -1}, to put h in the place of g {g: -1, h: 1}.

    Args:
        source: SMILES of the molecule to edit.
        change: group (a name of tools.chemistry, or a SMARTS) -> by how many.
        extract: where the SMILES stands in a trajectory; one of more than 200 characters is not read.

    Returns:
        A reward with outcome [G] of 0 and 1 and the channel "valid". No turn, or no molecule: 0 and 0.

    Raises:
        TaskError: a task whose source is no molecule, or that wants no change.
        InputError: rdkit is not installed (extra [chem]).

    Example:
        source CCO, change {hydroxyl: 1}: "OCCO" -> 1, "CCO" -> 0, "CCOO(" -> 0 and not valid

    Paper: arXiv:2512.20135 (MolAct), its released code: its check of edits.
    Differs: nothing known.
    """

    def score(trajectory: Trajectory) -> tuple[float, float]:
        task = trajectory.task
        before, after = read_molecule(source(task)), read_molecule(extract(trajectory))
        wanted = change(task)
        if before is None or not wanted:
            raise TaskError(f"task {task.id!r} needs a molecule to edit and a change: {source(task)!r}, {wanted}")
        if after is None:
            return 0.0, 0.0
        right = all(group_count(after, one) - group_count(before, one) == by for one, by in wanted.items())
        return float(right), 1.0

    def reward(group: Group) -> Scores:
        found = np.array([called_with(score, one) for one in group], dtype=np.float64).reshape(len(group), 2)
        return Scores(found[:, 0].copy(), channels={"valid": found[:, 1].copy()})

    return reward
