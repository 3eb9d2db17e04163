"""Rules of visualization: properties that a chart of any data has."""

from __future__ import annotations

import numpy as np

from handaxe.papers.hai_chart.chart_data import ChartData
from handaxe.papers.hai_chart.chart_query import NONE, Query
from handaxe.papers.hai_chart.chart_tables import ChartTable

__all__ = ["rule_score", "rules_kept"]

MOST = {"bar": 20, "arc": 10}


def rules_kept(table: ChartTable, query: Query, data: ChartData) -> dict[str, bool]:
    """Check each rule.

        grouped      bins only with an aggregate
        readable     at least two points; at most 20 bars, 10 slices
        single       one y for each x, except for points
        ordered      line: x has an order
        raw          point: no aggregate
        parts        arc: parts of a whole, no average and no negative value
        sorted       the bars are sorted only if x has no order

    A rule of another mark is kept.

    Example:
        an arc of the averages of twelve months  ->  readable and parts are False
    """
    mark, x, aggregate, _, bins, sort, _ = query
    kind = table.kinds[x]
    points = len(data.y)
    return {
        "grouped": bins == NONE or aggregate != NONE,
        "readable": 2 <= points <= MOST.get(mark, points),
        "single": mark == "point" or len(np.unique(data.x)) == points,
        "ordered": mark != "line" or kind != "categorical",
        "raw": mark != "point" or aggregate == NONE,
        "parts": mark != "arc" or (aggregate in ("count", "sum") and bool(data.y.min() >= 0)),
        "sorted": sort == NONE or kind == "categorical",
    }


def rule_score(table: ChartTable, query: Query, data: ChartData) -> float:
    """Compute the share of kept rules, R_knowledge in [0, 1].

    Example:
        two of the seven rules are broken  ->  5 / 7 = 0.714

    Paper: arXiv:2406.11033 (HAIChart), the reward by visualization rules.
    Unconfirmed: the rules, and the mean over them.
    """
    kept = rules_kept(table, query, data)
    return sum(kept.values()) / len(kept)
