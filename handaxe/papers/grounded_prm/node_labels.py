"""Labels of steps, read from the notes of a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from handaxe.core.records import Trajectory
from handaxe.rollouts.search.mcts import SEARCH

__all__ = ["StepLabel", "node_labels"]


class StepLabel(NamedTuple):
    """Whether a turn of an attempt is right, by its number."""

    trajectory: Trajectory
    turn: int
    right: bool


def node_labels(trajectories: Iterable[Trajectory], *, agree: bool = True) -> list[StepLabel]:
    """Label the visited nodes of searches by the sign of their value.

        right_k = value of node k > 0           no label where it is 0
        a path, that is the visited nodes of a trajectory, ends before the first one after a wrong one whose value is
        0 or more; where verdicts are to agree, a path of which one node's verdict has another sign is left out

    Args:
        trajectories: of `mcts`; those of several searches together.
        agree: whether the verdicts have to agree.

    Returns:
        The labels, in order; a node that several trajectories share is labelled once.

    Example:
        values 0.75, -0.5, 0.2 and verdicts 1, -1, 1  ->  right, wrong; with verdicts 1, 1, 1 none, and right, wrong
        where they need not agree

    Paper: arXiv:2510.14942 (GroundedPRM), the construction of its data.
    Differs: nothing.
    """
    seen: set[int] = set()
    labels = []
    for one in trajectories:
        path = _path(one)
        if agree and any(node["verdict"] is None or node["verdict"] * node["value"] <= 0 for node in path):
            continue
        for k, node in enumerate(path):
            if one.turns[k].seed not in seen and node["value"] != 0:
                labels.append(StepLabel(one, k, node["value"] > 0))
                seen.add(one.turns[k].seed)
    return labels


def _path(one: Trajectory) -> list[Mapping[str, Any]]:
    path: list[Mapping[str, Any]] = []
    for node in one.notes.get(SEARCH, ()):
        if not node["visits"] or (node["value"] >= 0 and any(before["value"] < 0 for before in path)):
            break
        path.append(node)
    return path
