"""Metrics of a plan against a reference plan: tools, arguments, edges, exactness and edit distance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from handaxe.papers.mnms.plan import PlanNode

__all__ = ["Counts", "compare_plans", "edit_similarity"]


class Counts(NamedTuple):
    """Parts of an F1: twice the common labels, and the labels of both sides. F1 = twice / total over all tasks."""

    twice: int
    total: int


def compare_plans(plan: Sequence[PlanNode], gold: Sequence[PlanNode]) -> dict[str, Counts]:
    """Count the common labels of two plans.

        tool_f1      sets of tools
        argname_f1   sets of (tool, argument)
        argvalue_f1  sets of (tool, argument, value in lower case)
        edge_f1      sets of pairs of consecutive tools
        plan_acc     1 of 1 if the lists of tools are equal, else 0 of 1

    Sums of both parts over the tasks give the micro-averaged F1.

    Example:
        plan caption, answer and gold caption, summarize, answer  ->  tool_f1 4 of 5, edge_f1 0 of 3

    Paper: arXiv:2403.11085 (m&m's), the metrics of plans; from its released code.
    Differs: one reference plan a task.
    """
    labels: dict[str, list[list[Any]]] = {
        "tool_f1": [_tools(each) for each in (plan, gold)],
        "argname_f1": [[(node.name, key) for node in each for key in node.args] for each in (plan, gold)],
        "argvalue_f1": [
            [(node.name, key, value.lower()) for node in each for key, value in node.args.items()]
            for each in (plan, gold)
        ],
        "edge_f1": [list(pairwise(_tools(each))) for each in (plan, gold)],
    }
    counts = {name: _common(set(mine), set(theirs)) for name, (mine, theirs) in labels.items()}
    return {**counts, "plan_acc": Counts(int(_tools(plan) == _tools(gold)), 1)}


def edit_similarity(mine: Sequence[Hashable], theirs: Sequence[Hashable]) -> float:
    """Return Levenshtein's ratio of two sequences: 2 M / (both lengths), M the longest common subsequence.

    The normalized edit distance is 1 minus the ratio. 1 for two empty sequences.

    Example:
        (1, 3) and (1, 2, 3) -> 2 * 2 / 5 = 0.8
    """
    if not mine and not theirs:
        return 1.0
    row = [0] * (len(theirs) + 1)
    for one in mine:
        before = row
        row = [0]
        for place, other in enumerate(theirs):
            row.append(before[place] + 1 if one == other else max(before[place + 1], row[place]))
    return 2 * row[-1] / (len(mine) + len(theirs))


def _tools(plan: Sequence[PlanNode]) -> list[str]:
    return [node.name for node in plan]


def _common(mine: set[Hashable], theirs: set[Hashable]) -> Counts:
    return Counts(2 * len(mine & theirs), len(mine) + len(theirs))
