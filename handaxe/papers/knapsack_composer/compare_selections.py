"""Value and cost of selections on equal orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.papers.knapsack_composer.offline_selection import cover_optimum, score_knapsack
from handaxe.papers.knapsack_composer.online_knapsack import Candidate, online_knapsack
from handaxe.papers.knapsack_composer.tool_shop import ToolOrder, call_offer, probe_offer
from handaxe.worlds.toolbox.catalogue import Catalogue

__all__ = [
    "SELECTIONS",
    "SelectionOutcome",
    "compare_selections",
    "helpful_ratios",
    "retrieval_first",
    "working_offers",
]

SELECTIONS = ("online", "greedy", "unprobed", "retrieval", "similarity", "optimum")
"""online: probes and threshold. greedy: probes alone. unprobed: threshold alone. retrieval: best-ranked offer of each
skill. similarity: knapsack of retrieval scores. optimum: knapsack of the calls that succeed."""


class SelectionOutcome(NamedTuple):
    """Importance of skills with a working tool as a share of all importance, spent share of the budget, and probe
    runs."""

    value: float
    spent: float
    probes: int = 0


def working_offers(catalogue: Catalogue, order: ToolOrder) -> np.ndarray:
    """Execute the calls of all steps with all offers.

    Returns:
        [I, M] bool: retrieval found offer i for skill m, and the call has the step's result.
    """
    works_IM = np.zeros(order.score_IM.shape, bool)
    for number, skill in zip(*np.nonzero(order.score_IM)):
        step = order.steps[skill]
        works_IM[number, skill] = call_offer(catalogue, order.offers[number], step["arguments"]) == str(step["value"])
    return works_IM


def helpful_ratios(catalogue: Catalogue, orders: Iterable[ToolOrder]) -> tuple[float, float]:
    """Return the 10th and 90th percentile of importance / cost over working pairs of offer and skill."""
    ratios: list[float] = []
    for order in orders:
        for number, skill in zip(*np.nonzero(working_offers(catalogue, order))):
            ratios.append(float(order.importance_M[skill]) / order.offers[number].cost)
    low, high = np.quantile(ratios, (0.1, 0.9))
    return float(low), float(high)


def retrieval_first(score_IM: np.ndarray, cost_I: np.ndarray, *, budget: float) -> tuple[int, ...]:
    """Select the first offer with the highest score of each skill, in order of skills, while the budget lasts.

    Example:
        scores 1.0, 1.0 of one skill with costs 2 and 1  ->  (0,) at budget 2, () at budget 1
    """
    chosen: list[int] = []
    left = budget
    for skill in range(score_IM.shape[1]):
        best = int(score_IM[:, skill].argmax())
        if score_IM[best, skill] > 0 and best not in chosen and cost_I[best] <= left:
            chosen.append(best)
            left -= cost_I[best]
    return tuple(sorted(chosen))


def compare_selections(
    catalogue: Catalogue, orders: Sequence[ToolOrder], *, budget: float, low: float, high: float
) -> dict[str, list[SelectionOutcome]]:
    """Select tools for each order by each of `SELECTIONS`.

    Args:
        catalogue: of the orders.
        orders: composition tasks.
        budget: of an order.
        low, high: ratios of `ratio_threshold`.

    Returns:
        Outcomes [orders] by name. The value counts executed calls of the steps, not probe runs.

    Example:
        one skill, a broken offer of cost 2 before a sound offer of cost 1, budget 2  ->  online has value 1 and spends
        0.5; retrieval has value 0 and spends 1

    Paper: arXiv:2510.16499 (Knapsack composer), the comparison with retrieval and an offline knapsack.
    Differs: unprobed, greedy and optimum are selections of this comparison alone; the paper's retrieval has no budget.
    """
    found: dict[str, list[SelectionOutcome]] = {name: [] for name in SELECTIONS}
    for order in orders:
        for name, outcome in _one_order(catalogue, order, budget, low, high).items():
            found[name].append(outcome)
    return found


def _one_order(
    catalogue: Catalogue, order: ToolOrder, budget: float, low: float, high: float
) -> dict[str, SelectionOutcome]:
    cost_I = np.array([one.cost for one in order.offers], np.float64)
    works_IM = working_offers(catalogue, order)
    candidates = [
        Candidate(offer.cost, tuple(np.flatnonzero(score_M).tolist()))
        for offer, score_M in zip(order.offers, order.score_IM)
    ]

    def probe(number: int, skill: int) -> bool:
        return probe_offer(catalogue, order.offers[number], order.steps[skill])

    def outcome(chosen: Sequence[int], probes: int = 0) -> SelectionOutcome:
        solved_M = works_IM[list(chosen)].any(0)
        value = float(order.importance_M[solved_M].sum() / order.importance_M.sum())
        return SelectionOutcome(value, float(cost_I[list(chosen)].sum() / budget), probes)

    ways = {"online": (probe, low, high), "greedy": (probe, 0.0, 0.0), "unprobed": (lambda *_: True, low, high)}
    outcomes = dict[str, SelectionOutcome]()
    for name, (helps, least, most) in ways.items():
        selected = online_knapsack(candidates, order.importance_M, budget=budget, low=least, high=most, helps=helps)
        outcomes[name] = outcome(selected.chosen, 0 if name == "unprobed" else selected.probes)
    offline = {
        "retrieval": retrieval_first(order.score_IM, cost_I, budget=budget),
        "similarity": score_knapsack(order.score_IM, cost_I, budget=budget),
        "optimum": cover_optimum(works_IM, cost_I, order.importance_M, budget=budget),
    }
    return outcomes | {name: outcome(chosen) for name, chosen in offline.items()}
