"""Figures of rollouts: by hand, against a slow loop, and tasks without a right or a wrong rollout."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.evaluation.bench_scores import bench_figures
from handaxe.evaluation.rollout_scores import ROLLOUTS, rollout_figures, rollout_sums

ROWS = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1, max_size=5)


def test_the_figures_by_hand():
    """0.9 (no), 0.4 (yes), 0.4 (no): of two pairs, one is lost and one is equal; the top is wrong; one of three is
    right. Bins of ECE: 0.9 against 0, 0.8 against 1."""
    found = rollout_figures(rollout_sums(np.array([0.9, 0.4, 0.4]), np.array([False, True, False])))
    want = {"pair": 0.25, "best": 0.0, "right": 1 / 3, "ece": (0.9 + 0.2) / 3}
    assert {name: float(one) for name, one in found.items()} == pytest.approx(want, abs=1e-9)


def test_tasks_without_a_right_or_a_wrong_rollout_have_no_pair():
    rows = [(np.array([0.9, 0.1]), np.array([label, label])) for label in (True, False)]
    found = {name: one.value for name, one in bench_figures(ROLLOUTS, rows, resamples=2).items()}
    assert math.isnan(found["pair"]) and found["best"] == found["right"] == 0.5


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_the_figures_equal_a_slow_loop(tasks):
    wins = 0.0
    pairs = 0
    best = []
    right = []
    for rows in tasks:
        for own, label in rows:
            for other, wrong in rows:
                if label and not wrong:
                    pairs += 1
                    wins += 1 if own > other else 0.5 if own == other else 0
        top = [label for score, label in rows if score == max(score for score, _ in rows)]
        best.append(sum(top) / len(top))
        right.append(sum(label for _, label in rows) / len(rows))
    given_rows = [(np.array([p for p, _ in rows]), np.array([label for _, label in rows])) for rows in tasks]
    found = {name: one.value for name, one in bench_figures(ROLLOUTS, given_rows, resamples=2).items()}
    assert found["best"] == pytest.approx(np.mean(best)) and found["right"] == pytest.approx(np.mean(right))
    assert math.isnan(found["pair"]) if not pairs else found["pair"] == pytest.approx(wins / pairs)
