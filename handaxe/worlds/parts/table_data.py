"""Tables of scikit-learn's data sets in three parts, with units and missing cells drawn by a number."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator

__all__ = ["METRICS", "TableData", "table_data", "table_score"]

METRICS: Mapping[str, str] = MappingProxyType(
    {"iris": "accuracy", "wine": "accuracy", "cancer": "accuracy", "digits": "accuracy", "diabetes": "rmse"}
)
"""Data set -> metric: accuracy, higher is better, or root mean squared error, lower is better."""
LOADERS = {"cancer": "load_breast_cancer"}
UNITS = 2
"""Columns are multiplied by powers of ten from -UNITS to UNITS."""
LEAST = 48
"""Rows of which a third is enough for every pipeline of `table_pipelines`, with up to 15 neighbors."""


class TableData(NamedTuple):
    """A table in three parts of equal size. X is [rows, columns], NaN for a missing cell; y is [rows]."""

    train_X: np.ndarray
    train_y: np.ndarray
    public_X: np.ndarray
    public_y: np.ndarray
    private_X: np.ndarray
    private_y: np.ndarray


def table_data(name: str, *, number: int, rows: int = 240, missing: float = 0.05) -> TableData:
    """Draw rows of a data set for training, public test and private test.

    Each column has its own unit, a power of ten, and each cell is missing with probability `missing`. Targets of a
    regression are divided by their standard deviation over the whole data set.

    Args:
        name: iris, wine, cancer, digits or diabetes, all packaged with scikit-learn.
        number: seed of rows, units and missing cells.
        rows: at most this many rows in all three parts together, 48 or more.
        missing: share of missing cells, 0 to 0.5.

    Returns:
        Three parts of floor(rows / 3) rows each.

    Raises:
        InputError: an unknown data set, a number out of range, or scikit-learn is missing (extra [ml]).

    Example:
        table_data("iris", number=0).train_X.shape is (50, 4)

    Idea: real tables that ship with a package; units and missing cells make the steps of a pipeline matter.
    """
    if name not in METRICS or rows < LEAST or not 0 <= missing <= 0.5:
        raise InputError(
            f"a table has a name of {', '.join(METRICS)}, {LEAST} rows or more and missing cells from 0 to 0.5; not "
            f"{name!r}, {rows} and {missing}"
        )
    all_X, all_y = _loaded(name)
    rng = generator("table_data", name, number)
    order = rng.permutation(len(all_y))[:rows]
    units = 10.0 ** rng.integers(-UNITS, UNITS + 1, all_X.shape[1])
    X = all_X[order] * units
    X[rng.random(X.shape) < missing] = np.nan
    y = all_y[order]
    part = len(order) // 3
    first = slice(0, part)
    second = slice(part, 2 * part)
    third = slice(2 * part, 3 * part)
    return TableData(X[first], y[first], X[second], y[second], X[third], y[third])


def table_score(name: str, y: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the metric of a data set.

    accuracy = mean(y == predicted)        rmse = sqrt(mean((y - predicted)^2))

    Args:
        name: of the data set.
        y: [rows], correct labels or targets.
        predicted: [rows].
    """
    if METRICS[name] == "accuracy":
        return float(np.mean(y == predicted))
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


@functools.cache
def _loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise InputError('the tables need scikit-learn: pip install "handaxe[ml]"') from error
    X, y = getattr(datasets, LOADERS.get(name, f"load_{name}"))(return_X_y=True)
    return X.astype(np.float64), y / y.std() if METRICS[name] == "rmse" else y
