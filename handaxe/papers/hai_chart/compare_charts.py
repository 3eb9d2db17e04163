"""Comparison of searches at equal numbers of evaluations, and of sessions with and without hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.papers.hai_chart.chart_query import Query, complete_queries
from handaxe.papers.hai_chart.composite_reward import ChartReward
from handaxe.papers.hai_chart.graph_search import GraphSearch, operation_node, prefix_node, random_search
from handaxe.papers.hai_chart.hint_session import HintChoice, best_views, coverage_hints, play_session, random_hints

__all__ = ["ARMS", "SEARCHES", "compare_hints", "compare_searches"]

SEARCHES = ("graph", "mixed", "tree", "random")
"""mixed: the graph with the random choices of the released code."""
ARMS: Mapping[str, tuple[HintChoice | None, bool]] = {
    "coverage": (coverage_hints, True),
    "learned": (coverage_hints, False),
    "random": (random_hints, True),
    "none": (None, True),
}
"""Arm -> choice of hints, and whether an accepted hint constrains the search."""
TOP = 30


def compare_searches(
    rewards: Sequence[ChartReward], *, seeds: Sequence[int], budgets: Sequence[int]
) -> dict[str, np.ndarray]:
    """Run every search at every table.

    Args:
        rewards: one for each table.
        seeds: of the searches.
        budgets: numbers of evaluations, ascending.

    Returns:
        "SEARCH/N": best reward of the first N evaluations over the best reward of all charts of the table, mean over
        tables, [S]. "SEARCH/top": share of the 30 best views of a table among all evaluations, [S]. "SEARCH/distinct":
        different charts over evaluations, [S].

    Raises:
        InputError: no table, no seed, or budgets that are not ascending and positive.

    Example:
        compare_searches([reward], seeds=[0, 1], budgets=[50])["graph/50"]  ->  [1.0, 0.98]

    Paper: arXiv:2406.11033 (HAIChart), recommended charts at a budget.
    Differs: all charts are enumerated here, so that the best reward is known.
    """
    if not rewards or not seeds or list(budgets) != sorted(set(budgets)) or not budgets or budgets[0] < 1:
        raise InputError(f"compare_searches: give tables, seeds, and ascending budgets of at least 1, not {budgets}")
    found: dict[str, list[list[float]]] = {}
    for reward in rewards:
        every = {one: reward.score(one) for one in complete_queries(reward.table)}
        best = max(every.values())
        top = set(best_views(every)[:TOP])
        for name in SEARCHES:
            runs = [_run(name, reward, derive_seed(seed, reward.table.name, name), budgets[-1]) for seed in seeds]
            for budget in budgets:
                own = [max((value for _, value in run[:budget]), default=0.0) / best for run in runs]
                found.setdefault(f"{name}/{budget}", []).append(own)
            share = [len(top & set(best_views(dict(run)))) / len(top) for run in runs]
            found.setdefault(f"{name}/top", []).append(share)
            distinct = [len(dict(run)) / budgets[-1] for run in runs]
            found.setdefault(f"{name}/distinct", []).append(distinct)
    return {name: np.array(own).mean(axis=0) for name, own in found.items()}


def _run(name: str, reward: ChartReward, seed: int, evaluations: int) -> list[tuple[Query, float]]:
    if name == "random":
        return random_search(reward.table, reward.score, evaluations=evaluations, seed=seed)
    key = prefix_node if name == "tree" else operation_node
    search = GraphSearch(reward.table, key=key, random_rate=0.8 if name == "mixed" else None, seed=seed)
    return search.run(reward.score, evaluations=evaluations)


def compare_hints(
    rewards: Sequence[ChartReward], *, seeds: Sequence[int], rounds: int, evaluations: int, k: int
) -> dict[str, np.ndarray]:
    """Play a session for every published chart of every table, seed and arm.

    Args:
        rewards: one for each table; published charts are the wanted ones.
        seeds: of the sessions.
        rounds, evaluations, k: as `play_session`.

    Returns:
        "ARM": Hit@3, the share of sessions whose wanted view is among the first three, [S]; "ARM/10" likewise for ten,
        and "ARM/accepted", hints accepted in a session, [S].

    Paper: arXiv:2406.11033 (HAIChart), Hit@3 against published charts.
    Differs: the users are simulated, and want the charts of Vega-Lite's gallery, not of Kaggle notebooks.
    """
    found: dict[str, list[list[float]]] = {}
    for name, (hints, fix) in ARMS.items():
        play = partial(play_session, hints=hints, fix=fix, rounds=rounds, evaluations=evaluations, k=k)
        for seed in seeds:
            own = [play(reward, one, seed=seed) for reward in rewards for one in reward.table.gallery]
            found.setdefault(name, []).append([float(1 <= one.place <= 3) for one in own])
            found.setdefault(f"{name}/10", []).append([float(1 <= one.place <= 10) for one in own])
            found.setdefault(f"{name}/accepted", []).append([float(one.accepted) for one in own])
    return {name: np.array(own).mean(axis=1) for name, own in found.items()}
