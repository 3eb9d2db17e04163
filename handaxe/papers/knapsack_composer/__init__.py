"""Knapsack composer (arXiv:2510.16499): select tools under a budget by probe runs and online knapsack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures, mean_interval
from handaxe.papers.knapsack_composer.compare_selections import SelectionOutcome, compare_selections, helpful_ratios
from handaxe.papers.knapsack_composer.tool_shop import ToolOrder, make_order, single_steps
from handaxe.worlds.toolbox.catalogue import Catalogue, full_catalogue
from handaxe.worlds.toolbox.world import toolbox

__all__ = ["knapsack_composer"]

BUDGETS = {"small": 6, "large": 18}
"""In the ratio of the paper's budgets, 10 and 30 dollars. A tool costs 1 to 5."""
SHOPS = {"honest": 0.0, "faulty": 0.5}
"""Share of offers that are broken or lying."""
RIVALS = ("retrieval", "similarity", "unprobed", "greedy", "optimum")


def knapsack_composer(*, orders: int = 16, seeds: int = 8, tasks: int = 160, fitted: int = 40) -> StudyFunction:
    """Select tools of the catalogue of `toolbox` for six skills, and execute the calls that need these skills.

    Figures:
        SHOP/BUDGET/SELECTION               share of the importance with a working tool; /spent and /probes beside
        SHOP/BUDGET/gain/SELECTION          that share of online less that of the selection, mean over seeds; /low and
                                            /high are the ends of its 95 % interval; likewise saved, spent share of the
                                            selection less that of online
        most_spent                          largest spent share of a budget
        low, high                           ratios of the threshold
        trust/BUDGET/low                    low end of the interval of: gain over retrieval in faulty less in honest

    Args:
        orders: composition tasks of a seed.
        seeds: of orders, from the study's seed on.
        tasks: held-out questions whose calls are the skills.
        fitted: orders of the training split that determine the ratios of the threshold.
    """

    def measure(seed: int) -> dict[str, float]:
        catalogue = full_catalogue()
        world = toolbox(kind="question", brief=False)
        train = single_steps(world.tasks("train", tasks // 2, 0))
        held_out = single_steps(world.tasks("test", tasks, 0))
        ratios = (make_order(catalogue, train, seed=derive_seed("knapsack_composer train", n)) for n in range(fitted))
        low, high = helpful_ratios(catalogue, ratios)
        figures = {"low": low, "high": high}
        gains: dict[str, np.ndarray] = {}
        for shop, faulty in SHOPS.items():
            drawn = _draw_orders(catalogue, held_out, range(seed, seed + seeds), orders, faulty)
            for name, budget in BUDGETS.items():
                runs = [compare_selections(catalogue, own, budget=budget, low=low, high=high) for own in drawn]
                found, gains[f"{shop}/{name}"] = _figures(runs)
                figures |= {f"{shop}/{name}/{key}": value for key, value in found.items()}
        return _with_largest(figures | _trust(gains))

    return measure


def _draw_orders(
    catalogue: Catalogue, steps: Sequence[Mapping[str, Any]], seeds: Sequence[int], count: int, faulty: float
) -> list[list[ToolOrder]]:
    """Draw the orders of each seed."""
    return [
        [make_order(catalogue, steps, seed=derive_seed("test", seed, n), faulty=faulty) for n in range(count)]
        for seed in seeds
    ]


def _trust(gains: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Low end of the interval of the gain over retrieval in faulty shops less that in honest ones, by budget."""
    more = {name: gains[f"faulty/{name}"] - gains[f"honest/{name}"] for name in BUDGETS}
    return {f"trust/{name}/low": mean_interval(more_S).low for name, more_S in more.items()}


def _with_largest(figures: Mapping[str, float]) -> dict[str, float]:
    """Replace the largest spent share of each comparison by the largest of all."""
    most = max(value for key, value in figures.items() if key.endswith("/most_spent"))
    return {key: value for key, value in figures.items() if not key.endswith("/most_spent")} | {"most_spent": most}


def _figures(runs: Sequence[Mapping[str, Sequence[SelectionOutcome]]]) -> tuple[dict[str, float], np.ndarray]:
    """Return means, paired differences of online to every other selection, and the gains over retrieval [seeds]."""
    value_S = {name: np.array([np.mean([one.value for one in run[name]]) for run in runs]) for name in runs[0]}
    spent_S = {name: np.array([np.mean([one.spent for one in run[name]]) for run in runs]) for name in runs[0]}
    figures = {"most_spent": max(one.spent for run in runs for own in run.values() for one in own)}
    for name in runs[0]:
        figures |= {name: float(value_S[name].mean()), f"{name}/spent": float(spent_S[name].mean())}
        figures[f"{name}/probes"] = float(np.mean([one.probes for run in runs for one in run[name]]))
    for name in RIVALS:
        pairs = {"gain": value_S["online"] - value_S[name], "saved": spent_S[name] - spent_S["online"]}
        for key, difference_S in pairs.items():
            figures |= interval_figures(f"{key}/{name}", difference_S)
    return figures, value_S["online"] - value_S["retrieval"]
