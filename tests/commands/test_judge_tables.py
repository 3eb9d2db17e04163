"""Tables of `handaxe judge eval`: rows, kinds, and columns of curves."""

import io

import numpy as np
from rich.console import Console

from handaxe.commands.judge_tables import judge_tables
from handaxe.evaluation.bench_items import BenchItem, BenchQuestion
from handaxe.evaluation.bench_report import bench_report
from handaxe.evaluation.bench_scores import ANSWERS

KINDS = ("", "value", "missing", "extra", "name")
ITEM = BenchItem("a", tuple(BenchQuestion(lambda desk: None, not kind, (1,), kind=kind) for kind in KINDS))


def shown(best_of):
    reports = [bench_report(ANSWERS, [np.array(one)], [ITEM], best_of=best_of) for one in ([0.9, 0.1, 0.2, 0.95, 0.3],)]
    judge = {**reports[0], "tokens": 10.0, "seconds": 0.5, "cost": 0.0}
    yes = bench_report(ANSWERS, [np.ones(5)], [ITEM], best_of=best_of)
    console = Console(file=io.StringIO(), width=120)
    for table in judge_tables({"mine": judge}, {"yes": yes}):
        console.print(table)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    return [line for line in lines if line and line[0] in ("mine", "(yes)", "(oracle)", "(mean)", "judge")]


def test_figures_and_kinds_have_a_row_each():
    """0.9 of the right text is above 0.1, 0.2 and 0.3, and below 0.95: pair 3/4."""
    lines = shown(0)
    assert lines[0] == ["judge", "pair", "(95", "%)", "best", "mrr", "ece", "asked", "tokens", "s"]
    assert lines[1][:3] == ["mine", "0.75", "0.75-0.75"] and lines[1][-2:] == ["10", "0.500"]
    assert lines[3] == ["judge", *KINDS[1:]] and lines[4] == ["mine", "1.00", "1.00", "0.00", "1.00"]
    assert lines[5] == ["(yes)", "0.50", "0.50", "0.50", "0.50"] and len(lines) == 6


def test_curves_have_columns_at_powers_of_two_and_the_last():
    """Of the five, the right one is second: it is the best of n of those without the first, C(3, n - 1) / C(5, n)."""
    header, mine, yes, oracle, mean = shown(5)[6:]
    assert " ".join(header) == "judge n = 1 n = 2 n = 4 n = 5 (95 %)"
    assert mine == ["mine", "0.20", "0.30", "0.20", "0.00", "0.00-0.00"]
    assert oracle == ["(oracle)", "0.20", "0.40", "0.80", "1.00", "1.00-1.00"]
    assert yes[1:] == mean[1:] == ["0.20", "0.20", "0.20", "0.20", "0.20-0.20"]
