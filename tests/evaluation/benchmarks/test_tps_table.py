"""The table of TPS-Bench by hand."""

from dataclasses import replace

import pytest

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks import scheduling
from handaxe.evaluation.benchmarks.benchmark import PartResult
from handaxe.evaluation.benchmarks.tps_table import tps_table

STEPS = {"steps": [{"function": "a"}, {"function": "b"}, {"function": "c"}], "chains": [2, 1]}


def task(name, scored, made=0.0, elapsed=0.0, sequential=0.0):
    gauges = {
        "progress": (made, 3.0),
        "selected": (0.5, 1.0),
        "call_turns": (4.0, 1.0),
        "elapsed": (elapsed, 1.0),
        "speedup": (sequential, elapsed),
    }
    values = (name, 1, scored, int(made == 3), float(made == 3), 5.0, 80.0, 0.0, 0.0, {})
    return TaskResult(*values, STEPS, gauges if scored else {})


def test_table_by_hand(monkeypatch):
    """Done (3 + 1) / 6, speedup (9 + 6) / (6 + 4); plans of 3, 2 and 1 seconds as in the test of scheduling."""
    monkeypatch.setattr(scheduling, "function_seconds", {"a": 3, "b": 2, "c": 1}.get)
    part = PartResult((task("x", 1, 3.0, 6.0, 9.0), task("y", 1, 1.0, 4.0, 6.0), task("z", 0)), 25, 1)
    table = tps_table({"prose, easy": part})
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    row, sequential, parallel = rows
    assert [row[name] for name in ("tasks of", "scored", "tasks")] == ["prose, easy", 2, 3]
    names = ("done", "select", "turns", "time", "speedup", "tokens")
    assert [row[name] for name in names] == pytest.approx([2 / 3, 0.5, 4, 5, 1.5, 80], abs=1e-9)
    assert [sequential[name] for name in names] == [1, 1, 6, 9, 1, None]
    assert [parallel[name] for name in names] == [1, 1, 3, 6, 1.5, None]
    assert table.notes[0].startswith("Tasks of this library in the form of TPS-Bench")
    assert any("1 of 3 rollouts have no score" in note for note in table.notes)


def test_a_part_without_a_score_has_dashes():
    table = tps_table({"prose, easy": PartResult((task("z", 0),), 25, 1)})
    assert [row[3:] for row in table.rows] == [(None,) * 6] * 3


def test_plans_of_a_choice_have_one_call_before_the_steps(monkeypatch):
    """Seconds 3, 2 and 1, and 1 of the choice: one after another 7 in 4 turns; {choice}, {a, c}, {b} 1 + 3 + 2 = 6."""
    monkeypatch.setattr(scheduling, "function_seconds", {"a": 3, "b": 2, "c": 1}.get)
    chosen = replace(task("x", 1, 3.0, 6.0, 9.0), metadata={**STEPS, "offered": ["a", "b", "c", "d"]})
    _, sequential, parallel = tps_table({"choice, easy": PartResult((chosen,), 25, 0)}).rows
    assert sequential[5:8] == (4, 7, 1)
    assert parallel[5:7] == (3, 6)
