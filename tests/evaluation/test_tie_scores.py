"""Ties: by hand, against a loop over the definition, equal scores, and weights."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.evaluation.bench_scores import bench_figures
from handaxe.evaluation.tie_scores import TIES, tie_figures, tie_sums

LABELS = np.array([True, True, False, True, False, False])
GRID = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0])


def test_the_sums_by_hand():
    """Tied: right 0.9 and 0.8, wrong 0.3: margin 0.5, spread 0.1. Reference: right 0.9, wrong 0.5, 0.2: margin 0.4."""
    sums = tie_sums(np.array([0.9, 0.8, 0.3, 0.9, 0.5, 0.2]), LABELS)
    names = ("tied", "reference", "preferred", "hard", "wins", "pairs")
    assert [float(sums[name]) for name in names] == [1, 1, 1, 1, 4, 4]
    assert float(sums["bonus"]) == pytest.approx(math.tanh(3), abs=1e-6)


def test_the_figures_by_hand():
    """Task 1 as above: all 1, tanh(3) = 0.995055. Task 2: tied right 0.9 and 0.6, wrong 0.5: margin 0.1, spread 0.3;
    reference right 0.4, wrong 0.4 and 0.1: margin 0. Tied alone is 1; bonus tanh(0 / 0.3 - 1) = -0.761594; wins 2 of 2
    and 1.5 of 2. Means: tied 1, reference, preferred and hard 1/2, bonus 0.116730."""
    rows = [(np.array(one), LABELS) for one in ([0.9, 0.8, 0.3, 0.9, 0.5, 0.2], [0.9, 0.6, 0.5, 0.4, 0.4, 0.1])]
    found = {name: one.value for name, one in bench_figures(TIES, rows, resamples=2).items()}
    want = {"tied": 1.0, "reference": 0.5, "preferred": 0.5, "hard": 0.5, "pair": 7.5 / 8}
    assert {name: found[name] for name in want} == pytest.approx(want, abs=1e-9)
    assert found["ties"] == pytest.approx(0.3 + 0.15 + 0.1 + 0.1 + 0.01 * 0.1167305, abs=1e-6)


def test_a_spread_above_the_margin_is_not_preferred():
    """Right 0.9 and 0.5, wrong 0.4: all right answers win, and differ more among themselves."""
    sums = tie_sums(np.array([0.9, 0.5, 0.4, 0.9, 0.1, 0.1]), LABELS)
    assert [float(sums[name]) for name in ("tied", "preferred", "hard")] == [1, 0, 0]
    assert float(sums["bonus"]) == pytest.approx(math.tanh(0.1 / 0.4 - 1), abs=1e-6)


def test_a_small_margin_of_the_reference_is_not_hard():
    sums = tie_sums(np.array([0.9, 0.7, 0.1, 0.6, 0.5, 0.1]), LABELS)
    assert [float(sums[name]) for name in ("tied", "reference", "preferred", "hard")] == [1, 1, 1, 0]


@pytest.mark.parametrize("labels, score", [(1.0, 1.01), (0.0, -0.01), (None, 0.0)])
def test_perfect_wrong_and_equal_scores(labels, score):
    """Perfect: all shares 1 and the bonus 1. Reversed: all 0 and the bonus -1. Equal scores: no margin, no bonus."""
    scores = np.full(6, 0.5) if labels is None else np.where(LABELS, labels, 1 - labels)
    found = tie_figures(tie_sums(scores, LABELS))
    assert float(found["ties"]) == pytest.approx(score, abs=1e-9)
    assert float(found["pair"]) == pytest.approx(0.5 if labels is None else labels)


def slow(scores):
    a, b, c, d, e, f = scores
    tied = min(a, b) - c
    reference = d - max(e, f)
    spread = abs(a - b)
    least = min(tied, reference)
    if spread:
        bonus = math.tanh(least / spread - 1)
    else:
        bonus = 0 if least == 0 else math.copysign(1, least)
    shares = [tied > 0, reference > 0, tied > spread, least > spread]
    return sum(w * s for w, s in zip((0.3, 0.3, 0.2, 0.2), shares)) + 0.01 * bonus


@given(st.lists(st.lists(GRID, min_size=6, max_size=6), min_size=1, max_size=4))
def test_the_score_equals_a_loop_over_the_definition(rows):
    found = bench_figures(TIES, [(np.array(row), LABELS) for row in rows], resamples=2)["ties"].value
    assert found == pytest.approx(sum(map(slow, rows)) / len(rows), abs=1e-9)


def test_figures_without_tasks_are_nan():
    assert all(math.isnan(number) for one in bench_figures(TIES, []).values() for number in one)
