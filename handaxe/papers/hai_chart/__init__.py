"""HAIChart (arXiv:2406.11033): search charts by Monte-Carlo graph search, and refine them by hints to a user."""

from __future__ import annotations

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.hai_chart.chart_tables import chart_tables
from handaxe.papers.hai_chart.compare_charts import ARMS, SEARCHES, compare_hints, compare_searches
from handaxe.papers.hai_chart.composite_reward import ChartReward
from handaxe.papers.hai_chart.train_score import train_scores

__all__ = ["hai_chart"]

BUDGETS = (25, 50, 100, 200)


def hai_chart(
    *, seeds: int = 8, sessions: int = 8, rounds: int = 3, evaluations: int = 50, hints: int = 5
) -> StudyFunction:
    """Search charts of twelve tables, and recommend charts to simulated users who want published charts.

    The data score of a table is fitted on the published charts of the other tables.

    Figures:
        best/SEARCH/N               best reward of N evaluations over the best of all charts, mean over tables
        best/gain/SEARCH/N          that of graph less that of the search; /low and /high are the ends of its 95 %
                                    interval over seeds
        best/SEARCH/top             share of the 30 best views of a table, found with 200 evaluations; gains likewise
        best/SEARCH/distinct        different charts over 200 evaluations
        hit/ARM, hit/ARM/10         Hit@3 and Hit@10 with the hints of an arm; /accepted: accepted hints
        hit/gain/ARM                Hit@3 of coverage less that of the arm; /low and /high

    Args:
        seeds: of the searches, from the study's seed on.
        sessions: seeds of the sessions, with one session for each published chart.
        rounds: of hints in a session.
        evaluations: of each of the rounds + 1 searches.
        hints: shown in a round.
    """

    def measure(seed: int) -> dict[str, float]:
        tables = chart_tables()
        weights = train_scores(tables, seed=seed)
        rewards = [ChartReward(one, weights[one.name]) for one in tables]
        searched = compare_searches(rewards, seeds=range(seed, seed + seeds), budgets=BUDGETS)
        wanted = range(seed, seed + sessions)
        hit = compare_hints(rewards, seeds=wanted, rounds=rounds, evaluations=evaluations, k=hints)
        figures = {f"best/{name}": float(own.mean()) for name, own in searched.items()}
        figures |= {f"hit/{name}": float(own.mean()) for name, own in hit.items()}
        for name in SEARCHES[1:]:
            for end in (*BUDGETS, "top"):
                gain_S = searched[f"graph/{end}"] - searched[f"{name}/{end}"]
                figures |= interval_figures(f"best/gain/{name}/{end}", gain_S)
        for name in list(ARMS)[1:]:
            figures |= interval_figures(f"hit/gain/{name}", hit["coverage"] - hit[name])
        return figures

    return measure
