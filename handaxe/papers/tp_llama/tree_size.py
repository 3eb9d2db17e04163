"""Stage that plays search trees and measures their size."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import RatedGroup
from handaxe.papers.tp_llama.decision_tree import TREE

__all__ = ["measure_trees", "tree_size"]


def tree_size(*, source: Source) -> Stage:
    """Make a stage that measures the search trees of a source, without training.

    Args:
        source: of trees, such as `played` with the rollout `decision_tree`.

    Returns:
        A stage: one row with the figures of `measure_trees`.

    Raises:
        InputError: groups of another rollout strategy.

    Example:
        tree_size(source=played(group_size=1, arguments={"rollout": decision_tree(...)}))

    Paper: arXiv:2406.07115 (TP-LLaMA), inference efficiency.
    Differs: tasks of the training split; the paper counts steps on test tasks.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        return [{"step": 0.0, **measure_trees(source(site))}]

    return stage


def measure_trees(trees: Sequence[RatedGroup]) -> dict[str, float]:
    """Measure the size of trees.

        nodes_per_solved = sum of nodes over all trees / number of trees with a success (1 if there is none)

    Returns:
        trees, their number; solved, the share with a success; nodes, the mean number of turns; nodes_per_solved.

    Raises:
        InputError: no tree, or groups of another rollout strategy.

    Example:
        trees of 3, 8 and 24 nodes, the last without a success  ->  solved 0.667, nodes 11.67, nodes_per_solved 17.5

    Paper: arXiv:2406.07115 (TP-LLaMA), mean number of steps of the search.
    Unconfirmed: failed trees count in the paper's mean.
    Differs: nothing.
    """
    if not trees or any(TREE not in one.notes for rated in trees for one in rated.played.group):
        raise InputError("measure_trees needs trees of decision_tree: give at least one group, and no other rollout")
    noted = [[one.notes[TREE] for one in rated.played.group] for rated in trees]
    nodes = [own[0]["nodes"] for own in noted if own]
    solved = sum(any(note["success"] for note in own) for own in noted)
    return {
        "trees": float(len(noted)),
        "solved": solved / len(noted),
        "nodes": sum(nodes) / len(noted),
        "nodes_per_solved": sum(nodes) / max(solved, 1),
    }
