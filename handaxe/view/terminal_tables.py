"""Tables for the terminal: an evaluation, a comparison of two evaluations, metrics of a run."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable

__all__ = [
    "DifferenceLike",
    "EstimateLike",
    "comparison_table",
    "decimal",
    "evaluation_table",
    "interval",
    "metrics_table",
]


class EstimateLike(Protocol):
    """A value with interval, such as evaluation.estimates.Estimate."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


class DifferenceLike(Protocol):
    """A paired difference with interval, such as evaluation.comparison.Difference."""

    @property
    def before(self) -> float: ...
    @property
    def after(self) -> float: ...
    @property
    def difference(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def verdict(self) -> str: ...


Breakdown = Mapping[str, Mapping[str, Mapping[str, EstimateLike]]]


def decimal(value: float | None, *, sign: bool = False) -> str:
    """Format a number with at most three decimals, fewer for large numbers; a dash for None, NaN and infinity.

    Example:
        0.5 -> "0.500"    12.345 -> "12.35"    1234.5 -> "1,234"    0.00012 -> "1.20e-04"    nan -> "-"
    """
    if value is None or not math.isfinite(value):
        return "-"
    plus = "+" if sign else ""
    size = abs(value)
    if size >= 1000:
        return f"{value:{plus},.0f}"
    if size >= 10:
        return f"{value:{plus}.2f}"
    return f"{value:{plus}.3f}" if size >= 0.001 or value == 0 else f"{value:{plus}.2e}"


def interval(low: float, high: float, *, sign: bool = False) -> str:
    """Format `[low, high]`, with a dash for a bound that is not finite."""
    return f"[{decimal(low, sign=sign)}, {decimal(high, sign=sign)}]"


def evaluation_table(
    metrics: Mapping[str, EstimateLike],
    *,
    endings: Mapping[str, EstimateLike] | None = None,
    breakdown: Breakdown | None = None,
    shown: Sequence[str] | None = None,
    title: str = "",
) -> Table:
    """Make a table with a row per metric, a row per ending, and the first metric by breakdowns of two values or more.

    Args:
        metrics: name -> estimate.
        endings: kind of ending -> share of rollouts.
        breakdown: metadata key -> value -> metrics.
        shown: names of metrics, in this order; None for all. Unknown names are ignored.
        title: above the table.
    """
    table = _table(title, ("", "value", "95 % interval"))
    names = [name for name in (metrics if shown is None else shown) if name in metrics]
    for name in names:
        table.add_row(escaped_text(name), decimal(metrics[name].value), interval(metrics[name].low, metrics[name].high))
    if endings:
        table.add_section()
        for name, share in endings.items():
            table.add_row(
                escaped_text(f"ended {name}", max_chars=60), decimal(share.value), interval(share.low, share.high)
            )
    for key, by in (breakdown or {}).items():
        if len(by) < 2:
            continue
        table.add_section()
        for value, found in by.items():
            for name in names[:1]:
                label = escaped_text(f"{name} where {key} is {value}", max_chars=60)
                table.add_row(label, decimal(found[name].value), interval(found[name].low, found[name].high))
    return table


def comparison_table(
    before: Mapping[str, EstimateLike],
    after: Mapping[str, EstimateLike],
    differences: Mapping[str, DifferenceLike],
    *,
    shown: Sequence[str],
    title: str = "",
    narrow: bool = False,
) -> Table:
    """Make a table with a row per metric: before, after and paired difference, each with interval.

    The verdict is unclear if the interval of the difference contains 0.

    Args:
        before, after: name -> estimate.
        differences: name -> paired difference.
        shown: names of metrics, in this order. Missing metrics, and metrics undefined on both sides, are ignored.
        title: above the table.
        narrow: omit the intervals of before and after, and put the verdict into the column of the difference.
    """
    table = _table(title, ("", "before", "after", "difference", *(() if narrow else ("verdict",))))
    for name in shown:
        if name not in before or name not in after or name not in differences:
            continue
        if not (math.isfinite(before[name].value) or math.isfinite(after[name].value)):
            continue
        change, cells = differences[name], []
        for one in (before[name], after[name]):
            below = "" if narrow else f"\n{interval(one.low, one.high)}"
            cells.append(Text(decimal(one.value)).append(below, style="bright_black"))
        difference = Text(decimal(change.difference, sign=True), style="bold")
        clear = change.verdict in ("higher", "lower")
        if narrow:
            difference.append(f" {change.verdict if clear else 'unclear'}")
        difference.append(f"\n{interval(change.low, change.high, sign=True)}", style="not bold bright_black")
        verdict = escaped_text(change.verdict if clear else "unclear", style="bold" if clear else "bright_black")
        table.add_row(escaped_text(name), *cells, difference, *(() if narrow else (verdict,)))
    return table


def metrics_table(
    rows: Sequence[Mapping[str, float]], *, columns: Sequence[str], last: int = 12, title: str = ""
) -> Table:
    """Make a table of metrics with a row per step, counted from 1.

    Args:
        rows: a dict per step with the key "step", in order.
        columns: names of metrics; unknown metrics are ignored.
        last: limit of rows, spread evenly from the first to the last; 0 shows all.
        title: above the table.
    """
    columns = [name for name in columns if any(name in row for row in rows)]
    table = _table(title, ("step", *columns))
    for row in _spread(rows, last):
        table.add_row(f"{row.get('step', math.nan) + 1:.0f}", *(decimal(row.get(name)) for name in columns))
    return table


def _spread(rows: Sequence[Mapping[str, float]], last: int) -> Sequence[Mapping[str, float]]:
    if not last or len(rows) <= last:
        return rows
    if last == 1:
        return rows[-1:]
    return [rows[round(i * (len(rows) - 1) / (last - 1))] for i in range(last)]


def _table(title: str, columns: tuple[str, ...]) -> Table:
    heading = escaped_text(title, style="bold") if title else None
    table = FittedTable(box=SIMPLE_HEAD, title=heading, title_justify="left", collapse_padding=True)
    for place, name in enumerate(columns):
        words = place == 0 or name == "verdict"
        table.add_column(escaped_text(name), justify="left" if words else "right", no_wrap=name != "verdict")
    return table
