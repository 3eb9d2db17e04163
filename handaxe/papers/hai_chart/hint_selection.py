"""Hints: operations that cover many charts of high reward, of different clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import CLAUSES, FREE, NONE, Constraints, Operation, Query

__all__ = ["covered_charts", "select_hints"]


def covered_charts(
    rewards: Mapping[Query, float], *, most: int = 200, constraints: Constraints = FREE
) -> dict[Operation, frozenset[Query]]:
    """Map every operation of the charts with the highest rewards to the charts that have the operation.

    Operations of a constrained clause, and the value "none", are no hints.

    Args:
        rewards: of the charts found so far.
        most: number of charts; of equal rewards the earlier chart counts. The released code has 200.
        constraints: accepted hints.
    """
    best = sorted(rewards, key=lambda one: -rewards[one])[:most]
    found: dict[Operation, set[Query]] = {}
    for query in best:
        for clause, value in zip(CLAUSES, query):
            if value != NONE and clause not in constraints:
                found.setdefault((clause, value), set()).add(query)
    return {one: frozenset(charts) for one, charts in found.items()}


def select_hints(
    covered: Mapping[Operation, Set[Query]], rewards: Mapping[Query, float], *, k: int, per_clause: int = 2
) -> list[Operation]:
    """Choose up to k hints greedily by the total reward of the charts that no earlier hint covers.

        gain(o | S) = sum of R(chart) over charts of o that no hint of S has

    The total reward of covered charts is monotone and submodular: greedy reaches at least 1 - 1/e of the best k
    operations without the limit for each clause, and at least 1/2 with the limit. The choice ends if no operation adds
    reward. Of equal gains the operation that comes first in `covered` is chosen.

    Args:
        covered: operation -> charts with the operation.
        rewards: chart -> reward, at least 0.
        k: number of hints; the released code has 9.
        per_clause: most hints of a clause, the diversity.

    Raises:
        InputError: k or per_clause below 1, a negative reward, or a chart without a reward.

    Example:
        rewards a 3, b 2, c 2, d 1; ("mark", "bar") has a, b, ("x", "u") a, c, ("x", "v") d; k 2:
        ("mark", "bar") with 5, then ("x", "u") with 2

    Paper: arXiv:2406.11033 (HAIChart), top-k hints, which is NP-hard.
    Unconfirmed: objective and limit of the paper's text.
    Differs: the released code ranks once, by mean rewards weighted with the inverse frequency of charts among hints.
    """
    _check(covered, rewards, k, per_clause)
    chosen: list[Operation] = []
    used: Counter[str] = Counter()
    seen: set[Query] = set()
    while len(chosen) < k:
        gains = {
            one: sum(rewards[chart] for chart in charts - seen)
            for one, charts in covered.items()
            if one not in chosen and used[one[0]] < per_clause
        }
        best = max(gains, key=lambda one: gains[one], default=None)
        if best is None or gains[best] <= 0:
            break
        chosen.append(best)
        used[best[0]] += 1
        seen |= covered[best]
    return chosen


def _check(covered: Mapping[Operation, Set[Query]], rewards: Mapping[Query, float], k: int, per_clause: int) -> None:
    if k < 1 or per_clause < 1:
        raise InputError(f"select_hints: k is {k} and per_clause {per_clause}; give numbers of at least 1")
    if any(value < 0 for value in rewards.values()):
        raise InputError(f"select_hints: the lowest reward is {min(rewards.values())}; give rewards of at least 0")
    for one, charts in covered.items():
        if missing := charts - rewards.keys():
            raise InputError(f"select_hints: no reward for {next(iter(missing))}, a chart of {one}; give one")
