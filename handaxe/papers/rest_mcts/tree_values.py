"""Quality values of all partial solutions of a finished search tree, from the correctness of its answers."""

from __future__ import annotations

import numpy as np

from handaxe.core.records import STOPPED, Group
from handaxe.ops.turn_tree import turn_tree
from handaxe.papers.rest_mcts.step_value import step_value

__all__ = ["tree_values"]


def tree_values(group: Group, outcome_G: np.ndarray, *, above: float = 0.5) -> tuple[np.ndarray, ...]:
    """Label each turn of a tree with the quality value of the partial solution up to it.

        up     steps = 1 at a correct end, 1 + min of the children above it: the node is correct
        across a wrong end and its ancestors up to the next correct node, or the question, are wrong, with the steps of
               that node
        down   v = step_value(v of the parent, distance=steps - 1, wrong=...)         v of the question = 0

    An end is the last turn of a finished rollout with an outcome. Nodes below which there is no end have no label, and
    nor has a tree without a correct end.

    Args:
        group: siblings of one tree, or independent rollouts, which share only the question.
        outcome_G: [G] outcomes; NaN is unknown.
        above: greatest outcome of a wrong answer.

    Returns:
        For each sibling [N_i]: values 0 to 1, NaN without a label. A shared turn has the same value in all siblings.

    Example:
        a b c is correct, and a x is wrong  ->  1/3, 2/3, 1  and  1/3, 1/9

    Paper: arXiv:2406.03816 (ReST-MCTS*), inference of values from a search tree, as in its released code.
    Differs: turns of rolls are labelled like nodes.
    """
    tree = turn_tree(group)
    steps_S = np.full(len(tree.parents), np.inf)
    wrong_ends = list[int]()
    for one, nodes_N, outcome in zip(group, tree.nodes, outcome_G, strict=True):
        if not len(nodes_N) or one.ending == STOPPED or one.ending.kind == "infra_error" or np.isnan(outcome):
            continue
        if outcome > above:
            steps_S[nodes_N[-1]] = 1
        else:
            wrong_ends.append(int(nodes_N[-1]))
    root = np.inf
    for node in range(len(steps_S) - 1, -1, -1):  # children come after their parents
        parent = tree.parents[node]
        if parent < 0:
            root = min(root, steps_S[node] + 1)
        else:
            steps_S[parent] = min(steps_S[parent], steps_S[node] + 1)
    if np.isinf(root):
        return tuple(np.full(len(nodes_N), np.nan) for nodes_N in tree.nodes)
    correct_S = np.isfinite(steps_S)
    _pass_on(wrong_ends, steps_S, tree.parents, float(root))
    value_S = _values(steps_S, correct_S, tree.parents)
    return tuple(value_S[nodes_N] for nodes_N in tree.nodes)


def _pass_on(wrong_ends: list[int], steps_S: np.ndarray, parents_S: np.ndarray, root: float) -> None:
    """Give wrong ends and their wrong ancestors the steps of the next node that has some."""
    for end in wrong_ends:
        path = list[int]()
        node = end
        while node >= 0 and np.isinf(steps_S[node]):
            path.append(node)
            node = int(parents_S[node])
        steps_S[path] = root if node < 0 else steps_S[node]


def _values(steps_S: np.ndarray, correct_S: np.ndarray, parents_S: np.ndarray) -> np.ndarray:
    value_S = np.full(len(steps_S), np.nan)
    for node in np.flatnonzero(np.isfinite(steps_S)):
        parent = parents_S[node]
        before = 0.0 if parent < 0 else float(value_S[parent])
        value_S[node] = step_value(before, distance=int(steps_S[node]) - 1, wrong=not correct_S[node])
    return value_S
