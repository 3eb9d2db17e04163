"""The table of families by hand."""

import pytest

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks.benchmark import PartResult
from handaxe.evaluation.benchmarks.families_table import TaskFamily, families_table

LINE = {"line": TaskFamily({"steps": (1, 2, 3, 11)}, (2,))}


def part(*correct):
    """Results with these numbers of correct rollouts; None is a task without a score."""
    made = [
        TaskResult(str(n), 1, int(one is not None), int(one or 0), float(one or 0), 0.0, 0.0, 0.0, 0.0, {})
        for n, one in enumerate(correct)
    ]
    return PartResult(tuple(made), len(made), sum(one is None for one in correct))


def rows(*parts):
    labels = [LINE["line"].label("line", member) for member in LINE["line"].members()]
    assert labels == ["line, 1 steps", "line, 2 steps", "line, 3 steps", "line, 11 steps"]
    table = families_table(dict(zip(labels, parts, strict=True)), families=LINE)
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}, table.notes


def test_table_by_hand():
    """Accuracies 1, 0.5, 0.5 and 0 have the mean 0.5; medoids are 2 and 11 and one of 1 and 3."""
    found, _ = rows(part(1, 1), part(1, 0), part(0, 1, None), part(0, 0))
    family = found["line, family"]
    assert (family["value"], family["scored"], family["tasks"]) == (0.5, 8, 9)
    assert 0.2 <= family["low"] <= 0.5 <= family["high"] <= 0.8
    assert found["line, lowest"]["value"] == 0 and found["line, highest"]["value"] == 1
    point = found["line, point"]
    assert (point["value"], point["scored"], point["tasks"]) == (0.5, 2, 2)
    gap = found["line, point - family"]
    assert gap["value"] == 0 and gap["low"] < 0 < gap["high"]
    subsets = [2 / 3, 0.5, 0.5, 1 / 3]
    expected = sum(abs(one - 0.5) for one in subsets) / 4
    assert found["line, error, 3 random"]["value"] == pytest.approx(expected, abs=1e-9)
    weighted = 1 * 0.25 + 0.5 * 0.5 + 0 * 0.25
    assert found["line, error, 3 medoids"]["value"] == pytest.approx(abs(weighted - 0.5), abs=1e-9)


def test_a_policy_without_any_correct_answer_has_an_interval_and_no_gap_interval():
    found, _ = rows(*[part(0, 0)] * 4)
    family = found["line, family"]
    assert family["value"] == family["low"] == 0 and 0 < family["high"] < 0.5
    gap = found["line, point - family"]
    assert (gap["value"], gap["low"], gap["high"]) == (0, None, None)


def test_a_member_without_a_score_makes_dashes():
    found, notes = rows(part(1), part(None), part(1), part(1))
    assert all(row["value"] is None for row in found.values())
    assert found["line, family"]["scored"] == 3 and any("1 of 4 rollouts" in note for note in notes)
