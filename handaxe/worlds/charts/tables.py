"""Columns of real tables, with their values on a scale from 10 to 99.

The tables are those that come with vega_datasets: cars, irises, US employment, weather of Seattle, and others. A digest
of its values puts a column into one split, about a quarter into test. Columns of nearly constant value are left out.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["HIGH", "LOW", "TableColumn", "draw_values", "table_columns"]

LOW, HIGH = 10, 99
"""Range of a value: two digits."""
TABLES: Mapping[str, Sequence[str]] = {
    "anscombe": ("X", "Y"),
    "barley": ("yield",),
    "cars": ("Miles_per_Gallon", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"),
    "crimea": ("disease", "wounds", "other"),
    "driving": ("miles", "gas"),
    "iowa-electricity": ("net_generation",),
    "iris": ("sepalLength", "sepalWidth", "petalLength", "petalWidth"),
    "ohlc": ("open", "ret"),
    "seattle-temps": ("temp",),
    "seattle-weather": ("temp_max", "temp_min", "wind"),
    "sf-temps": ("temp",),
    "stocks": ("price",),
    "us-employment": (
        "nonfarm",
        "goods_producing",
        "service_providing",
        "mining_and_logging",
        "construction",
        "durable_goods",
        "nondurable_goods",
        "wholesale_trade",
        "retail_trade",
        "transportation_and_warehousing",
        "utilities",
        "information",
        "financial_activities",
        "professional_and_business_services",
        "education_and_health_services",
        "leisure_and_hospitality",
        "other_services",
        "government",
    ),
    "wheat": ("wheat", "wages"),
}
"""Numeric columns by table."""
MIN_DISTINCT = 8
"""Least distinct values of a column on the scale."""


class TableColumn(NamedTuple):
    """A column of a table.

    name: table and column, such as "cars.Horsepower". values: [N] from 10 to 99, in the order of the table.
    """

    name: str
    values: tuple[int, ...]


@functools.cache
def table_columns(split: Split) -> tuple[TableColumn, ...]:
    """Return the columns of a split.

    Raises:
        InputError: vega_datasets is missing (extra [charts]).
    """
    return tuple(one for one in _columns() if content_split("charts", *one.values) == split)


def draw_values(rng: random.Random, split: Split, count: int) -> tuple[str, list[int]]:
    """Draw `count` distinct values of a column, in the order of the table, and return them with its name.

    Example:
        cars.Horsepower and [41, 88, 29]
    """
    column = rng.choice(table_columns(split))
    rows = dict[int, int]()  # a row per value
    while len(rows) < count:
        row = rng.randrange(len(column.values))
        rows.setdefault(column.values[row], row)
    return column.name, [column.values[row] for row in sorted(rows.values())]


def _columns() -> list[TableColumn]:
    data = _load()
    found = []
    for table, names in TABLES.items():
        frame = getattr(data, table.replace("-", "_"))()
        for name in names:
            values = np.asarray(frame[name].dropna(), np.float64)
            share = (values - values.min()) / (values.max() - values.min())
            scaled = tuple(int(value) for value in np.round(LOW + (HIGH - LOW) * share))
            if len(set(scaled)) >= MIN_DISTINCT:
                found.append(TableColumn(f"{table}.{name}", scaled))
    return found


def _load() -> Any:
    try:
        from vega_datasets import local_data
    except ImportError as error:
        raise InputError(
            'the world charts reads tables of vega_datasets, which is missing: pip install "handaxe[charts]"'
        ) from error
    return local_data
