"""Step labels from the notes of a tree search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from handaxe.core.records import Trajectory
from handaxe.rollouts.search.mcts import SEARCH

__all__ = ["StepLabel", "node_labels"]


class StepLabel(NamedTuple):
    """Correctness of a rollout's turn."""

    trajectory: Trajectory
    turn: int
    right: bool


def node_labels(trajectories: Iterable[Trajectory], *, agree: bool = True) -> list[StepLabel]:
    """Label the visited nodes of searches by the sign of the value.

        right_k = value of node k > 0           no label for a value of 0
        a path, the visited nodes of a trajectory, ends before the first node with a value of 0 or more after an
        incorrect one; with `agree`, a path is dropped if the verdict of one of its nodes has another sign than its
        value

    Args:
        trajectories: of `mcts`, of one or more searches.
        agree: drop paths whose verdicts disagree with the values.

    Returns:
        The labels, in order; a node shared by several trajectories is labelled once.

    Example:
        values 0.75, -0.5, 0.2 and verdicts 1, -1, 1  ->  right, wrong; with verdicts 1, 1, 1 none, and right, wrong
        without `agree`

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
