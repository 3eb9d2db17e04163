"""Features of a chart's data: match of mark and data, compression, and shape."""

from __future__ import annotations

import math

import numpy as np

from handaxe.papers.hai_chart.chart_data import ChartData
from handaxe.papers.hai_chart.chart_query import NONE, X_KINDS, Query
from handaxe.papers.hai_chart.chart_tables import ChartTable

__all__ = ["chart_features", "correlation", "mark_match"]

LINE = 0.3
"""Least correlation of a line chart with a trend."""
SLICES = 10
BARS = 20


def correlation(x_N: np.ndarray, y_N: np.ndarray) -> float:
    """Compute the largest absolute Pearson correlation of x or log x with y or log y; 0 if one of both is constant.

    A logarithm is tried where all values are positive.

    Example:
        x 1, 2, 3 and y 2, 4, 8: 1, by the logarithm of y
    """
    if len(x_N) < 2:
        return 0.0
    found = 0.0
    for one in _scales(x_N):
        for other in _scales(y_N):
            a = one - one.mean()
            b = other - other.mean()
            size = math.sqrt(float(a @ a) * float(b @ b))
            found = max(found, abs(float(a @ b)) / size if size > 1e-12 else 0.0)
    return min(found, 1.0)


def mark_match(mark: str, data: ChartData, *, ordered: bool) -> float:
    """Compute how well the data fit the mark, M in [0, 1].

        arc      n = 1 or y < 0: 0;  H(y / sum y) / log 10, times 10 / n for n > 10;  H is the entropy
        bar      n = 1: 0;  2 <= n <= 20: 1;  20 / n above
        point    correlation
        line     1 if the correlation is above 0.3, else 0

    Args:
        mark: of the chart.
        data: n points.
        ordered: False for a categorical x, which has the correlation 0.

    Example:
        arc with y 1, 1: log 2 / log 10 = 0.301;  bar with 40 points: 0.5

    Paper: arXiv:2406.11033 (HAIChart), the score M of the released code.
    Unconfirmed: the score of the paper's text.
    Differs: the entropy is divided by log 10, so that M is at most 1.
    """
    n = len(data.y)
    trend = correlation(data.x, data.y) if ordered else 0.0
    if mark == "bar":
        return 0.0 if n == 1 else min(1.0, BARS / n)
    if mark == "point":
        return trend
    if mark == "line":
        return float(trend > LINE)
    total = float(data.y.sum())
    if n == 1 or data.y.min() < 0 or total <= 0:
        return 0.0
    share_N = data.y[data.y > 0] / total
    return float(-(share_N * np.log(share_N)).sum()) / math.log(SLICES) * min(1.0, SLICES / n)


def chart_features(table: ChartTable, query: Query, data: ChartData) -> np.ndarray:
    """Compute the features of a chart [18], all in [-1, 1].

    In this order: the four marks (0 or 1), the kinds of x (numerical, categorical, temporal), count, sum, average and
    no aggregate, a bin, a sort, a filter, M, Q = 1 - points / rows, the correlation, and the size log10(points) / 4.

    Example:
        points of four rows, y = 2 x: mark and kind flags, no aggregate, M 1, Q 0, correlation 1, size 0.151

    Paper: arXiv:2406.11033 (HAIChart), features of the score learned from data.
    Differs: the released code has minima, maxima and distinct values of both axes, and no operations.
    """
    mark, x, aggregate, _, bins, sort, keep = query
    kind = table.kinds[x]
    flags = [mark == one for one in X_KINDS]
    flags += [kind == one for one in ("numerical", "categorical", "temporal")]
    flags += [aggregate == one for one in ("count", "sum", "average", NONE)]
    flags += [bins != NONE, sort != NONE, keep != NONE]
    points = len(data.y)
    ordered = kind != "categorical"
    trend = correlation(data.x, data.y) if ordered else 0.0
    numbers = [mark_match(mark, data, ordered=ordered), 1 - points / table.rows, trend, math.log10(points) / 4]
    return np.array([*flags, *numbers], np.float64)


def _scales(values: np.ndarray) -> list[np.ndarray]:
    return [values, np.log(values)] if values.min() > 0 else [values]
