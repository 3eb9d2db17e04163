"""Data of a chart: the values of both axes after bins, aggregation, sorting and the filter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_query import CLAUSES, NONE, Query
from handaxe.papers.hai_chart.chart_tables import ChartTable

__all__ = ["ChartData", "chart_data"]

BINS = 10
"""Bins of equal width of a numerical column."""


class ChartData(NamedTuple):
    """Values of a chart.

    x: [N] numbers; the place among the sorted labels for a categorical column, days or years for a temporal one.
    y: [N] numbers.
    """

    x: np.ndarray
    y: np.ndarray


def chart_data(table: ChartTable, query: Query) -> ChartData:
    """Compute the data of a complete query.

        no aggregate      every row
        an aggregate      a point for each value of x (or bin): number of rows, sum or mean of y

    Bins of numbers are ten intervals of equal width, represented by their lower bounds. The filter top5 keeps the 5
    points with the largest y. Points are in the order of x, or of y with a sort.

    Raises:
        InputError: an incomplete query, or a column that the table lacks.

    Example:
        ages 3, 5, 4 of cat, dog, cat, and ("bar", "kind", "average", "age", "none", "descending", "none"):
        x 1, 0 (dog, cat) and y 5, 3.5

    Paper: arXiv:2406.11033 (HAIChart), operations of a query.
    Differs: ten bins of equal width; the released code has further bins, such as bins at 0 and by day.
    """
    if len(query) != len(CLAUSES):
        raise InputError(
            f"chart_data: the query {query} has {len(query)} clauses; give one value for each of {CLAUSES}"
        )
    _, x_name, aggregate, y_name, bins, sort, keep = query
    for name in (x_name, *([] if aggregate == "count" else [y_name])):
        if name not in table.columns:
            raise InputError(f"chart_data: table {table.name} has no column {name!r}; use one of {list(table.columns)}")
    x_N = _numbers(table, x_name, bins)
    y_N = np.ones(table.rows) if aggregate == "count" else table.columns[y_name]
    if aggregate != NONE:
        x_N, y_N = _aggregated(x_N, y_N, mean=aggregate == "average")
    return ChartData(*_ordered(x_N, y_N, sort, keep))


def _numbers(table: ChartTable, name: str, bins: str) -> np.ndarray:
    values = table.columns[name]
    kind = table.kinds[name]
    if kind == "categorical":
        return np.unique(values, return_inverse=True)[1].astype(np.float64)
    if kind == "temporal":
        unit = {"year": "Y", "month": "M"}.get(bins, "D")
        cut = values.astype(f"datetime64[{unit}]").astype(np.float64)
        return np.mod(cut, 12) if bins == "month" else cut
    if bins == NONE:
        return values
    edges = np.linspace(values.min(), values.max(), BINS + 1)
    return edges[np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BINS - 1)]


def _aggregated(x_N: np.ndarray, y_N: np.ndarray, *, mean: bool) -> tuple[np.ndarray, np.ndarray]:
    values, place_N, count = np.unique(x_N, return_inverse=True, return_counts=True)
    total = np.bincount(place_N, weights=y_N)
    return values, total / count if mean else total


def _ordered(x_N: np.ndarray, y_N: np.ndarray, sort: str, keep: str) -> tuple[np.ndarray, np.ndarray]:
    if keep != NONE:
        kept = np.sort(np.argsort(-y_N, kind="stable")[: int(keep.removeprefix("top"))])
        x_N, y_N = x_N[kept], y_N[kept]
    order = np.argsort(x_N, kind="stable")
    if sort != NONE:
        order = np.argsort(y_N if sort == "ascending" else -y_N, kind="stable")
    return x_N[order], y_N[order]
