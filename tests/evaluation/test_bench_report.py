"""Reports: counts of questions, figures by kind of error, and curves."""

import numpy as np
import pytest

from handaxe.evaluation.bench_items import BenchItem, BenchQuestion
from handaxe.evaluation.bench_report import bench_report, kind_figures
from handaxe.evaluation.bench_scores import ANSWERS, PAIRS


def item(task, *kinds):
    return BenchItem(task, tuple(BenchQuestion(lambda desk: None, not kind, (1,), kind=kind) for kind in kinds))


A, B = item("a", "", "missing", "value"), item("b", "", "missing", "value")


def test_a_task_with_an_unanswered_question_is_in_no_figure():
    found = bench_report(ANSWERS, [np.array([0.9, 0.1, 0.2]), np.array([0.5, np.nan, 0.9])], [A, B], best_of=3)
    assert found["pair"]["value"] == 1 and found["main"] == "pair"
    counts = [found[name] for name in ("tasks", "questions", "unanswered")]
    assert counts == [1, 6, 1] and found["coverage"] == pytest.approx(5 / 6)
    assert [one["value"] for one in found["best_of"]["judge"]] == pytest.approx([1 / 3, 2 / 3, 1])
    assert [one["value"] for one in found["best_of"]["mean"]] == pytest.approx([1 / 3] * 3)


def test_kinds_are_compared_one_by_one():
    """Right 0.9 and 0.5. Missing 0.2 and 0.5: a win and a tie. Value 0.95 and 0.6: lost twice."""
    found = kind_figures(ANSWERS, [(A, np.array([0.9, 0.2, 0.95])), (B, np.array([0.5, 0.5, 0.6]))])
    assert {kind: one.value for kind, one in found.items()} == {"missing": 0.75, "value": 0.0}
    assert kind_figures(ANSWERS, [(item("c", "", ""), np.array([0.9, 0.1]))]) == {}


def test_kinds_of_pairs_have_two_orders():
    def asked(kind, correct):
        return BenchQuestion(lambda desk: None, correct, (1, 1), 0, kind)

    pairs = BenchItem("a", tuple(asked(kind, first) for kind in ("missing", "value") for first in (True, False)))
    found = kind_figures(PAIRS, [(pairs, np.array([0.9, 0.1, 0.4, 0.8]))])
    assert {kind: one.value for kind, one in found.items()} == {"missing": 1.0, "value": 0.0}


def test_without_kinds_and_curves_the_report_has_neither():
    found = bench_report(ANSWERS, [np.array([0.9, 0.1])], [BenchItem("a", A.questions[:1] + (B.questions[1],))])
    assert "best_of" not in found
    plain = BenchItem("a", tuple(one._replace(kind="") for one in A.questions))
    assert "kinds" not in bench_report(ANSWERS, [np.array([0.9, 0.1, 0.2])], [plain])
