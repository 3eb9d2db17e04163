"""Tables of `handaxe judge eval`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD

from handaxe.view.fitted_table import FittedTable

__all__ = ["judge_tables"]

CAPTION = "asked: share of questions with an answer; figures: tasks with all answers; tokens and s: of an answer"
KINDS = "pair accuracy against the wrong texts of one kind of error"
CURVE = "expected truth of the best of n by the judge's score, over all subsets of n candidates"
NESTED = ("kinds", "best_of")
"""Parts of a report with several figures each."""
Reports = Mapping[str, Mapping[str, Any]]


def judge_tables(judges: Reports, controls: Reports) -> Iterator[FittedTable]:
    """Tables of judges, with controls in parentheses: figures, wins by kind of error, and curves of the best of n.

    Args:
        judges: source -> `bench_report`, with tokens, seconds and cost.
        controls: control -> `bench_report`.
    """
    rows = {**judges, **{f"({name})": report for name, report in controls.items()}}
    yield _figures(judges, rows)
    if any("kinds" in report for report in rows.values()):
        yield _kinds(rows)
    if any("best_of" in report for report in rows.values()):
        yield _curves(rows, next(iter(controls.values())))


def _figures(judges: Reports, rows: Reports) -> FittedTable:
    first = next(iter(judges.values()))
    main = first["main"]
    names = [name for name, one in first.items() if isinstance(one, dict) and name not in (main, *NESTED)]
    costs = ["cost"] if any(one.get("cost") for one in judges.values()) else []
    table = _empty([f"{main} (95 %)", *names, "asked", "tokens", "s", *costs], CAPTION)
    for source, own in rows.items():
        values = [_share(own[name]["value"]) for name in names]
        spent = [f"{own['tokens']:.0f}", f"{own['seconds']:.3f}"] if "tokens" in own else ["", ""]
        paid = [f"{own['cost']:.2g}" if "cost" in own else "" for _ in costs]
        table.add_row(source, _with_interval(own[main]), *values, _share(own["coverage"]), *spent, *paid)
    return table


def _kinds(rows: Reports) -> FittedTable:
    names = list(dict.fromkeys(kind for report in rows.values() for kind in report.get("kinds", ())))
    table = _empty(names, KINDS)
    for source, own in rows.items():
        known = own.get("kinds", {})
        table.add_row(source, *[_share(known[kind]["value"]) if kind in known else "-" for kind in names])
    return table


def _curves(rows: Reports, whole: Mapping[str, Any]) -> FittedTable:
    """A row of each judge and control, of an oracle, and of the mean of all tasks."""
    most = len(whole["best_of"]["judge"])
    shown = [n for n in range(1, most) if n & (n - 1) == 0]
    table = _empty([*[f"n = {n}" for n in shown], f"n = {most} (95 %)"], CURVE)
    curves = {source: own["best_of"]["judge"] for source, own in rows.items()}
    for source, curve in {**curves, **{f"({name})": whole["best_of"][name] for name in ("oracle", "mean")}}.items():
        table.add_row(source, *[_share(curve[n - 1]["value"]) for n in shown], _with_interval(curve[most - 1]))
    return table


def _empty(columns: list[str], caption: str) -> FittedTable:
    table = FittedTable(box=SIMPLE_HEAD, padding=0, caption=caption, caption_justify="left")
    table.add_column("judge")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _share(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "-"


def _with_interval(own: Mapping[str, float]) -> str:
    return f"{_share(own['value'])} {_share(own['low'])}-{_share(own['high'])}" if np.isfinite(own["value"]) else "-"
