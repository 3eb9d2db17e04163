import io
import math
from typing import NamedTuple

import pytest
from rich.console import Console

from handaxe.view.terminal_tables import comparison_table, decimal, evaluation_table, interval, metrics_table


class Value(NamedTuple):
    value: float
    low: float
    high: float


class Change(NamedTuple):
    before: float
    after: float
    difference: float
    low: float
    high: float
    verdict: str


def lines(table, width=80):
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(table)
    return [" ".join(line.split()) for line in console.export_text().splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "0.500"),
        (12.345, "12.35"),
        (1234.5, "1,234"),
        (0.00012, "1.20e-04"),
        (0.0, "0.000"),
        (-0.25, "-0.250"),
        (math.nan, "-"),
        (math.inf, "-"),
        (None, "-"),
    ],
)
def test_decimal_formats_numbers(value, shown):
    assert decimal(value) == shown


def test_decimal_and_interval_show_signs_and_dashes():
    assert decimal(0.25, sign=True) == "+0.250" and decimal(-12.0, sign=True) == "-12.00"
    assert interval(-0.1, math.inf) == "[-0.100, -]"


def test_comparison_table_has_differences_and_verdicts():
    before = {"pass@1": Value(0.2, 0.1, 0.3), "calls": Value(2.0, 1.5, 2.5), "gone": Value(0, 0, 0)}
    before["rate"] = Value(math.nan, -math.inf, math.inf)
    after = {"pass@1": Value(0.9, 0.8, 0.95), "calls": Value(1.9, 1.5, 2.5)}
    after["rate"] = before["rate"]
    changes = {
        "rate": Change(math.nan, math.nan, math.nan, -math.inf, math.inf, "no clear difference"),
        "pass@1": Change(0.2, 0.9, 0.7, 0.6, 0.8, "higher"),
        "calls": Change(2.0, 1.9, -0.1, -0.5, 0.3, "no clear difference"),
    }
    shown = lines(comparison_table(before, after, changes, shown=["calls", "pass@1", "gone", "rate"], title="T"))
    assert shown[0] == "T" and shown[1] == "before after difference verdict"
    assert shown[3:] == [
        "calls 2.000 1.900 -0.100 unclear",
        "[1.500, 2.500] [1.500, 2.500] [-0.500, +0.300]",
        "pass@1 0.200 0.900 +0.700 higher",
        "[0.100, 0.300] [0.800, 0.950] [+0.600, +0.800]",
    ]


def test_evaluation_table_has_endings_and_breakdown():
    metrics = {"pass@1": Value(0.5, 0.4, 0.6), "calls": Value(1, 1, 1)}
    by = {
        "difficulty": {"easy": {"pass@1": Value(1, 0.9, 1)}, "hard": {"pass@1": Value(0, 0, 0.1)}},
        "one": {"a": metrics},
    }
    endings = {"completed": Value(0.75, 0.7, 0.8)}
    shown = lines(evaluation_table(metrics, endings=endings, breakdown=by, shown=["pass@1", "absent"]))
    assert shown[2:] == [
        "pass@1 0.500 [0.400, 0.600]",
        "ended completed 0.750 [0.700, 0.800]",
        "pass@1 where difficulty is easy 1.000 [0.900, 1.000]",
        "pass@1 where difficulty is hard 0.000 [0.000, 0.100]",
    ]


def test_metrics_table_thins_rows_and_shows_dashes():
    rows = [{"step": float(k), "reward": k / 10} | ({"loss": 1.0} if k == 9 else {}) for k in range(10)]
    shown = lines(metrics_table(rows, columns=["reward", "loss", "absent"], last=4))
    assert shown[0] == "step reward loss"
    assert shown[2:] == ["1 0.000 -", "4 0.300 -", "7 0.600 -", "10 0.900 1.000"]
    assert len(lines(metrics_table(rows, columns=["reward"], last=0))) == 12
    assert lines(metrics_table(rows, columns=["reward"], last=1))[2:] == ["10 0.900"]


def test_tables_escape_names():
    shown = "".join(lines(metrics_table([{"step": 0.0, "\x1b[2J": 1.0}], columns=["\x1b[2J"], title="[red]\x07")))
    assert "\\x1b[2J" in shown and "[red]\\x07" in shown and "\x1b" not in shown
