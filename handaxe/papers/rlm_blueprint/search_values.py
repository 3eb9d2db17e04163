"""Value targets and advantages of turns, from the statistics of a search tree."""

from __future__ import annotations

import numpy as np

from handaxe.core.records import Group
from handaxe.ops.turn_tree import turn_tree
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.rollouts.search.value_search import ROOT

__all__ = ["search_advantages", "search_targets"]


def search_targets(group: Group) -> tuple[np.ndarray, ...]:
    """Return the backed-up value q of each turn that is a node of its tree, the target of the value model.

    Args:
        group: trajectories of `value_search`, one tree.

    Returns:
        For each sibling [N_i]; NaN for a turn that is no node, or that a sibling before has.

    Example:
        a b with q 0.5, 0.9, and a c with q 0.5, -0.2  ->  0.5, 0.9  and  NaN, -0.2

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), phase 1: the value model learns the values of the
    search.
    Differs: nothing.
    """
    return _first(group, [np.array([node["value"] for node in one.notes.get(SEARCH, ())], float) for one in group])


def search_advantages(group: Group, *, gamma: float = 0.96) -> tuple[np.ndarray, ...]:
    """Return the advantage of each turn that is a node of its tree.

        A_k = gamma q_k - q_{k-1}             q_{-1}: value of the question

    The value of an expanded node is the visit-weighted mean of gamma q over its children, so that the advantages of
    siblings have the weighted mean 0.

    Args:
        group: trajectories of `value_search`, one tree.
        gamma: discount of a turn, that of the back-up.

    Returns:
        For each sibling [N_i]; NaN as in `search_targets`.

    Example:
        question 0.12, children q = 0.5 with 3 visits and -1 with 1:  0.48 - 0.12 = 0.36  and  -0.96 - 0.12 = -1.08;
        3 * 0.36 - 1.08 = 0

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), phase 2: advantages of the search for the policy.
    Unconfirmed: the form of the advantage.
    Differs: nothing known.
    """
    found = []
    for one in group:
        value_N = np.array([node["value"] for node in one.notes.get(SEARCH, ())], float)
        question = one.notes.get(ROOT, {"value": 0.0})["value"]
        before_N = np.concatenate([[question], value_N])[: len(value_N)]
        found.append(gamma * value_N - before_N)
    return _first(group, found)


def _first(group: Group, values: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Values of the first turns, in the first sibling with the turn; NaN elsewhere."""
    tree = turn_tree(group)
    found = []
    for i, (nodes_N, own_N) in enumerate(zip(tree.nodes, values, strict=True)):
        value_N = np.full(len(nodes_N), np.nan)
        value_N[: len(own_N)] = own_N
        first_N = np.array([tree.members[node][0] == i for node in nodes_N], bool)
        found.append(np.where(first_N, value_N, np.nan))
    return tuple(found)
