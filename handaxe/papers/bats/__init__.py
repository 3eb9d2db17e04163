"""BATS (arXiv:2511.17006): accuracy and cost of agents with a budget tracker, planner and verifier."""

from collections.abc import Mapping

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.bats.compare_budgets import AGENTS, BudgetFigures, compare_budgets

__all__ = ["bats"]

BUDGETS = (1, 2, 4, 8, 16)
"""Calls of each tool."""
MIDDLE = 4
"""Budget from which growth is counted."""


def bats(*, tasks: int = 40, seeds: int = 8, patience: int = 4) -> StudyFunction:
    """Measure a scripted policy with and without the tracker, and with planner and verifier.

    Figures:
        AGENT/BUDGET/FIGURE    means over seeds, see `BudgetFigures`
        gain/tracker           correct answers with the tracker less those without, mean over budgets and seeds; /low
                               and /high are the ends of its 95 % interval over seeds
        gain/bats              the same of BATS less the tracker alone
        growth/AGENT           correct answers at the largest budget less those at a budget of 4
        saving                 1 - d / e: d, dollars of the tracker at the least budget that reaches the largest
                               budget's accuracy without; e, dollars without at the largest budget; 0 if none does
        most_over              executed calls beyond a limit, the most of all rollouts

    Args:
        tasks: of a seed.
        seeds: from the study's seed on.
        patience: read pages after which the policy without tracker gives up.
    """

    def measure(seed: int) -> dict[str, float]:
        found = compare_budgets(budgets=BUDGETS, seeds=range(seed, seed + seeds), tasks=tasks, patience=patience)
        figures = {
            f"{agent}/{budget}/{name}": float(values.mean())
            for (agent, budget), rows_SF in found.items()
            for name, values in zip(BudgetFigures._fields, rows_SF.T, strict=True)
            if name != "over"
        }
        correct = {key: rows_SF[:, BudgetFigures._fields.index("correct")] for key, rows_SF in found.items()}
        mean = {agent: np.mean([correct[agent, budget] for budget in BUDGETS], axis=0) for agent in AGENTS}
        figures |= interval_figures("gain/tracker", mean["tracker"] - mean["react"])
        figures |= interval_figures("gain/bats", mean["bats"] - mean["tracker"])
        for agent in AGENTS:
            figures |= interval_figures(f"growth/{agent}", correct[agent, BUDGETS[-1]] - correct[agent, MIDDLE])
        most = max(float(rows_SF[:, -1].max()) for rows_SF in found.values())
        return {**figures, "saving": _saving(figures), "most_over": most}

    return measure


def _saving(figures: Mapping[str, float]) -> float:
    """Share of the dollars that the tracker saves at the accuracy of the largest budget without a tracker."""
    base = f"react/{BUDGETS[-1]}"
    for budget in BUDGETS:
        if figures[f"tracker/{budget}/correct"] >= figures[f"{base}/correct"]:
            return 1 - figures[f"tracker/{budget}/dollars"] / figures[f"{base}/dollars"]
    return 0.0
