"""The table of a benchmark at 80 columns."""

import io

from rich.console import Console

from handaxe.evaluation.benchmarks.benchmark import BenchmarkTable
from handaxe.view.benchmark_table import benchmark_table


def shown(table, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(benchmark_table(table, title="own: 3 tasks"))
    return console.file.getvalue()


COLUMNS = ("domain", "scored", "tasks", "pass^1", "pass^2", "pass^3", "pass^4", "reward", "calls")
WIDE = BenchmarkTable(COLUMNS, (("telecom", 3.0, 1234.0, *[0.25] * 5, None),), ("A note.",))


def test_rows_fit_80_columns():
    lines = shown(WIDE).splitlines()
    assert max(map(len, lines)) <= 80 and lines[0].startswith("own: 3 tasks")
    row = next(line for line in lines if "telecom" in line)
    assert row.split() == ["telecom", "3", "1,234", *["0.250"] * 5, "-"]
    assert lines[-1] == "A note."


def test_narrow_terminal_shows_blocks_and_markup_of_names_has_no_effect():
    text = shown(WIDE._replace(rows=(("[red]x[/red]", 3.0, 4.0, *[0.25] * 5, 1.0),)), width=40)
    assert "[red]x[/red]" in text and max(map(len, text.splitlines())) <= 40
