"""Visualization queries: a sequence of clauses, each chosen among the values that the clauses before allow.

    mark -> x -> aggregate -> y -> bin -> sort -> filter

A partial query is a prefix of the sequence. An operation is a clause with a value, such as ("mark", "bar").

Paper: arXiv:2406.11033 (HAIChart), visualization queries; the order of the clauses as in the released code.
Differs: sort and filter have several values; the released code fixes both. No clause for color.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from handaxe.papers.hai_chart.chart_tables import ChartTable, GalleryChart, Kind

__all__ = ["CLAUSES", "Constraints", "FREE", "NONE", "Operation", "Query", "complete_queries", "next_values", "view_of"]

Operation = tuple[str, str]
Query = tuple[str, ...]
"""Values of the first clauses."""
Constraints = Mapping[str, str]
"""Clause -> the only value that a user admits."""

FREE: Constraints = MappingProxyType({})
CLAUSES = ("mark", "x", "aggregate", "y", "bin", "sort", "filter")
NONE = "none"
RECORDS = "records"
X_KINDS: Mapping[str, tuple[Kind, ...]] = {
    "bar": ("categorical", "temporal", "numerical"),
    "line": ("temporal", "categorical", "numerical"),
    "point": ("numerical", "temporal"),
    "arc": ("categorical",),
}
BINS: Mapping[Kind, tuple[str, ...]] = {
    "categorical": (NONE,),
    "numerical": (NONE, "auto"),
    "temporal": (NONE, "year", "month"),
}


def next_values(table: ChartTable, query: Query, constraints: Constraints = FREE) -> list[str]:
    """List the values of the next clause; an empty list for a dead end and for a complete query.

    Args:
        table: its columns are the values of x and y.
        query: values of the clauses before, shorter than CLAUSES.
        constraints: values of other operations of a constrained clause are left out.

    Example:
        ("arc",) at a table without a categorical column  ->  []
        ("point", "age", "none")  ->  all numerical columns except age
    """
    if len(query) >= len(CLAUSES):
        return []
    clause = CLAUSES[len(query)]
    values = _values(table, clause, query)
    return [one for one in values if constraints.get(clause, one) == one]


def complete_queries(table: ChartTable, query: Query = ()) -> Iterator[Query]:
    """Yield every complete query that begins with `query`, in the order of the values."""
    if len(query) == len(CLAUSES):
        yield query
    for value in next_values(table, query):
        yield from complete_queries(table, (*query, value))


def view_of(query: Query) -> GalleryChart:
    """Return mark, x, aggregate and y of a query: the variants of bin, sort and filter are one view."""
    return GalleryChart(*query[:4])


def _values(table: ChartTable, clause: str, query: Query) -> list[str]:
    columns = list(table.columns)
    if clause == "mark":
        return list(X_KINDS)
    if clause == "x":
        return [one for one in columns if table.kinds[one] in X_KINDS[query[0]]]
    if clause == "aggregate":
        return ["count", "sum", "average", NONE]
    if clause == "y":
        numbers = [one for one in columns if table.kinds[one] == "numerical" and one != query[1]]
        return [RECORDS] if query[2] == "count" else numbers
    if clause == "bin":
        return list(BINS[table.kinds[query[1]]])
    if clause == "sort":
        return [NONE, "ascending", "descending"] if query[0] == "bar" else [NONE]
    return [NONE, "top5", "top10"] if query[0] in ("bar", "arc") else [NONE]
