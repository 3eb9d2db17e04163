"""Table of a benchmark for the terminal."""

from collections.abc import Sequence
from typing import Protocol

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.text import Text

from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable

__all__ = ["BenchmarkTableLike", "benchmark_table"]

COUNTS = ("tasks", "scored")
"""Columns of whole numbers."""


class BenchmarkTableLike(Protocol):
    """Columns, rows and sentences, such as evaluation.benchmarks.benchmark.BenchmarkTable."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Sequence[str | float | None]]: ...
    @property
    def notes(self) -> Sequence[str]: ...


def benchmark_table(table: BenchmarkTableLike, *, title: str) -> Group:
    """Make the table with its title, and the notes below it. Undefined figures are dashes.

    Args:
        table: of a benchmark.
        title: above the table.
    """
    made = FittedTable(box=SIMPLE_HEAD, collapse_padding=True)
    for place, name in enumerate(table.columns):
        made.add_column(escaped_text(name), justify="right" if place else "left", no_wrap=True)
    for row in table.rows:
        made.add_row(*(_cell(name, value) for name, value in zip(table.columns, row, strict=True)))
    return Group(
        escaped_text(title, style="bold"),
        made,
        *(escaped_text(note, style="bright_black", max_chars=400) for note in table.notes),
    )


def _cell(name: str, value: str | float | None) -> Text:
    if value is None:
        return Text("-")
    if isinstance(value, str):
        return escaped_text(value)
    return Text(f"{value:,.0f}" if name in COUNTS else f"{value:.3f}")
