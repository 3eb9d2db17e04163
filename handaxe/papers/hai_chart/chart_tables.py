"""Real tables with typed columns, and charts of Vega-Lite's gallery for these tables."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["ChartTable", "GalleryChart", "Kind", "chart_tables", "make_table"]

Kind = Literal["numerical", "categorical", "temporal"]

TABLES: Mapping[str, str] = {
    "anscombe": "c:Series n:X n:Y",
    "barley": "n:yield c:variety c:year c:site",
    "cars": "n:Miles_per_Gallon c:Cylinders n:Displacement n:Horsepower n:Weight_in_lbs n:Acceleration t:Year c:Origin",
    "crimea": "t:date n:wounds n:other n:disease",
    "driving": "c:side n:year n:miles n:gas",
    "iowa-electricity": "t:year c:source n:net_generation",
    "iris": "n:sepalLength n:sepalWidth n:petalLength n:petalWidth c:species",
    "ohlc": "t:date n:open n:high n:low n:close c:signal n:ret",
    "seattle-weather": "t:date n:precipitation n:temp_max n:temp_min n:wind c:weather",
    "sf-temps": "t:date n:temp",
    "stocks": "c:symbol t:date n:price",
    "wheat": "n:year n:wheat n:wages",
}
"""Table -> its columns, each with the first letter of its kind."""
GALLERY: Mapping[str, str] = {
    "anscombe": "point X none Y",
    "barley": "bar variety sum yield; bar site sum yield; bar year sum yield",
    "cars": "point Horsepower none Miles_per_Gallon; point Displacement none Miles_per_Gallon;"
    " bar Cylinders average Acceleration; bar Horsepower count records; line Year average Miles_per_Gallon;"
    " bar Origin count records; point Weight_in_lbs none Miles_per_Gallon",
    "driving": "line miles none gas; point miles none gas",
    "iowa-electricity": "line year sum net_generation; arc source sum net_generation",
    "iris": "point petalWidth none petalLength; point sepalLength none sepalWidth",
    "ohlc": "line date none close; bar signal count records",
    "seattle-weather": "bar date average precipitation; bar date count records; line date average temp_max;"
    " point date none temp_max; bar weather count records; arc weather count records;"
    " point temp_max none precipitation",
    "sf-temps": "line date average temp; bar temp count records",
    "stocks": "line date none price; line date average price; bar symbol average price",
    "wheat": "bar year none wheat; line year none wages",
}
"""Table -> charts of the gallery: mark, x, aggregate and y each."""
KINDS: Mapping[str, Kind] = {"n": "numerical", "c": "categorical", "t": "temporal"}


class GalleryChart(NamedTuple):
    """Mark, x, aggregate and y of a published chart."""

    mark: str
    x: str
    aggregate: str
    y: str


@dataclass(frozen=True, eq=False)
class ChartTable:
    """A table without missing values.

    name: of the table. columns: column -> values [N], numbers for numerical columns, labels for categorical ones and
    datetime64 for temporal ones. kinds: column -> kind. gallery: published charts of the table.
    """

    name: str
    columns: Mapping[str, np.ndarray]
    kinds: Mapping[str, Kind]
    gallery: tuple[GalleryChart, ...] = ()

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


def make_table(
    name: str, columns: Mapping[str, Any], kinds: Mapping[str, Kind], gallery: tuple[GalleryChart, ...] = ()
) -> ChartTable:
    """Make a table of columns of equal length.

    Raises:
        InputError: no column, columns of different lengths, an empty column, or a kind is missing or unknown.

    Example:
        make_table("pets", {"kind": ["cat", "dog"], "age": [3, 5]}, {"kind": "categorical", "age": "numerical"})
    """
    found = {}
    for column, values in columns.items():
        kind = kinds.get(column)
        if kind is None or kind not in KINDS.values():
            raise InputError(f"table {name}: column {column!r} has kind {kind!r}; use one of {sorted(KINDS.values())}")
        types: Mapping[Kind, Any] = {"numerical": np.float64, "categorical": np.str_, "temporal": "datetime64[s]"}
        found[column] = np.asarray(values, dtype=types[kind])
    lengths = {len(values) for values in found.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError(f"table {name}: give columns of one length with at least one row, not of {sorted(lengths)}")
    return ChartTable(name, found, dict(kinds), gallery)


@functools.cache
def chart_tables() -> tuple[ChartTable, ...]:
    """Return twelve tables of vega_datasets; rows with missing values are left out.

    Raises:
        InputError: vega_datasets is missing (extra [charts]).

    Example:
        chart_tables()[2].name is "cars", with 392 rows and 7 charts of the gallery

    Paper: arXiv:2406.11033 (HAIChart), tables of the evaluation.
    Unconfirmed: the gallery's charts, listed from memory.
    Differs: vega_datasets and Vega-Lite's gallery; the paper has VizML and KaggleBench.
    """
    try:
        from vega_datasets import local_data
    except ImportError as error:
        raise InputError(
            'hai_chart reads tables of vega_datasets, which is missing: pip install "handaxe[charts]"'
        ) from error
    found = []
    for name, listed in TABLES.items():
        kinds = {column: KINDS[letter] for letter, column in (one.split(":") for one in listed.split())}
        frame = getattr(local_data, name.replace("-", "_"))()[list(kinds)].dropna()
        gallery = tuple(GalleryChart(*one.split()) for one in GALLERY.get(name, "").split(";") if one.strip())
        found.append(make_table(name, {column: frame[column].to_numpy() for column in kinds}, kinds, gallery))
    return tuple(found)
