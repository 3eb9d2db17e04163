"""Session of a simulated user who wants one chart: rounds of search, hints and answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import CLAUSES, Operation, Query, view_of
from handaxe.papers.hai_chart.chart_tables import GalleryChart
from handaxe.papers.hai_chart.composite_reward import ChartReward
from handaxe.papers.hai_chart.graph_search import GraphSearch
from handaxe.papers.hai_chart.hint_selection import covered_charts, select_hints
from handaxe.papers.hai_chart.user_preference import UserPreference

__all__ = ["HintChoice", "HintOutcome", "best_views", "coverage_hints", "play_session", "random_hints"]

Covered = Mapping[Operation, frozenset[Query]]
HintChoice = Callable[[Covered, Mapping[Query, float], int, random.Random], list[Operation]]
"""(charts by operation, rewards, number of hints, random numbers) -> hints."""


class HintOutcome(NamedTuple):
    """Place of the wanted view among the recommendations, from 1 on or 0 if not found, and accepted hints."""

    place: int
    accepted: int


def coverage_hints(covered: Covered, rewards: Mapping[Query, float], k: int, rng: random.Random) -> list[Operation]:
    """Choose hints by `select_hints`."""
    del rng
    return select_hints(covered, rewards, k=k)


def random_hints(covered: Covered, rewards: Mapping[Query, float], k: int, rng: random.Random) -> list[Operation]:
    """Choose hints at random among the operations of the same charts."""
    del rewards
    return rng.sample(list(covered), min(k, len(covered)))


def best_views(rewards: Mapping[Query, float]) -> list[GalleryChart]:
    """Rank the views of charts by the highest reward of their variants."""
    ranked = sorted(rewards, key=lambda one: -rewards[one])
    return list(dict.fromkeys(view_of(one) for one in ranked))


def play_session(
    reward: ChartReward,
    wanted: GalleryChart,
    *,
    hints: HintChoice | None,
    fix: bool = True,
    rounds: int = 3,
    evaluations: int = 50,
    k: int = 5,
    seed: int = 0,
) -> HintOutcome:
    """Search, show hints, learn from the answers, and search again.

    The user accepts the first hint that the wanted chart has, and rejects every hint that it does not have. An accepted
    hint constrains the later searches; all answers train the preference, which is a part of the reward. After the last
    search the views of all charts that keep the constraints are ranked by reward.

    Args:
        reward: of the table's charts.
        wanted: the chart that the user wants; unknown to search and hints.
        hints: choice of the hints; None for a session without hints, with as many evaluations.
        fix: False if accepted hints train the preference alone.
        rounds: of hints; one search more.
        evaluations: of a search.
        k: hints of a round.
        seed: of search and hints.

    Raises:
        InputError: rounds, evaluations or k below 1.

    Example:
        accepted ("mark", "point") and ("x", "Horsepower"): later searches have points over Horsepower alone

    Paper: arXiv:2406.11033 (HAIChart), rounds of recommendations and hints; constraints as in the released code.
    Unconfirmed: the use of rejected hints.
    """
    if min(rounds, evaluations, k) < 1:
        raise InputError(f"play_session: rounds {rounds}, evaluations {evaluations} and k {k} must be at least 1")
    search = GraphSearch(reward.table, seed=seed)
    rng = random.Random(seed)
    user = UserPreference()
    constraints: dict[str, str] = {}
    found: dict[Query, float] = {}
    accepted = 0

    def score(query: Query) -> float:
        return reward.score(query, user)

    for number in range(rounds + 1):
        found |= dict(search.run(score, evaluations=evaluations, constraints=constraints))
        kept = {one: score(one) for one in found if _keeps(one, constraints)}
        if hints is None or number == rounds:
            continue
        shown = hints(covered_charts(kept, constraints=constraints), kept, k, rng)
        good = [one for one in shown if one in zip(CLAUSES, wanted)][:1]
        user.learn(accepted=good, rejected=[one for one in shown if one not in list(zip(CLAUSES, wanted))])
        constraints |= dict(good) if fix else {}
        accepted += len(good)
    views = best_views(kept)
    return HintOutcome(views.index(wanted) + 1 if wanted in views else 0, accepted)


def _keeps(query: Query, constraints: Mapping[str, str]) -> bool:
    return all(constraints.get(clause, value) == value for clause, value in zip(CLAUSES, query))
