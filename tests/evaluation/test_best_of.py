"""Best of n: by hand, against all subsets, ties, no bias against fresh candidates, and wrong input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.evaluation.best_of import best_of_curve, best_of_figures
from handaxe.ops.stats import pass_at_k

GRID = st.sampled_from([0.0, 0.25, 0.5, 1.0])
CANDIDATES = st.lists(st.tuples(GRID, GRID), min_size=1, max_size=6)


def test_the_curve_by_hand():
    """Truths by ascending score: 0 (0.2), 1 (0.5), 0 (0.9). One: 1/3. Of the subsets of two, {0.2, 0.5} has the truth 1
    on top, {0.2, 0.9} and {0.5, 0.9} have 0: 1/3. All three: 0."""
    assert best_of_curve([0.2, 0.9, 0.5], [0, 0, 1]) == pytest.approx([1 / 3, 1 / 3, 0], abs=1e-9)


def test_equal_scores_have_their_mean_truth():
    """0.9 twice with truths 1 and 0, 0.1 with 1. Of two: {0.9, 0.9} 1/2, each {0.9, 0.1} the truth of its 0.9: 1, 0."""
    assert best_of_curve([0.9, 0.1, 0.9], [1, 1, 0]) == pytest.approx([2 / 3, 1 / 2, 1 / 2], abs=1e-9)
    assert best_of_curve(np.ones(4), [1, 0, 0, 0]) == pytest.approx([0.25] * 4)


def slow_curve(scores, truths):
    """The mean over all orders of equal scores and all subsets."""
    found = []
    for n in range(1, len(scores) + 1):
        values = []
        for subset in itertools.combinations(range(len(scores)), n):
            top = max(scores[k] for k in subset)
            best = [truths[k] for k in subset if scores[k] == top]
            values.append(sum(best) / len(best))
        found.append(sum(values) / len(values))
    return found


@given(CANDIDATES)
def test_the_curve_equals_a_loop_over_all_subsets(rows):
    scores, truths = zip(*rows)
    assert best_of_curve(scores, truths) == pytest.approx(slow_curve(scores, truths), abs=1e-9)


@given(CANDIDATES)
def test_an_oracle_rises_above_every_judge_from_the_mean(rows):
    scores, truths = zip(*rows)
    oracle, judge = best_of_curve(truths, truths), best_of_curve(scores, truths)
    assert (np.diff(oracle) >= -1e-12).all() and (oracle >= judge - 1e-12).all()
    assert oracle[0] == pytest.approx(judge[0]) == pytest.approx(np.mean(truths))


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_the_oracle_of_right_and_wrong_is_pass_at_k(truths):
    want = [pass_at_k(len(truths), sum(truths), k) for k in range(1, len(truths) + 1)]
    assert best_of_curve(truths, truths) == pytest.approx(want, abs=1e-9)


def test_the_mean_over_draws_of_candidates_is_the_expected_best_of_two():
    """Candidates are (score, truth) = (0, 1) or (1, 0), with chance 1/2 each: the best of two is true only if
    both have score 0, 1/4. Over all 8 equally likely draws of three candidates the estimate is 1/4 on average."""
    found = [
        best_of_curve([float(one) for one in draw], [1 - one for one in draw])[1]
        for draw in itertools.product((0, 1), repeat=3)
    ]
    assert np.mean(found) == pytest.approx(1 / 4, abs=1e-9)


def test_figures_are_means_over_tasks_with_intervals():
    first = (np.array([0.2, 0.9, 0.5]), np.array([0, 0, 1]))
    second = (np.array([0.9, 0.1, 0.2]), np.array([1, 0, 0]))
    found = best_of_figures([first, second], most=3)
    values = {name: [one.value for one in curve] for name, curve in found.items()}
    assert values["judge"] == pytest.approx([1 / 3, (1 / 3 + 2 / 3) / 2, 1 / 2], abs=1e-9)
    assert values["oracle"] == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-9)
    assert values["mean"] == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert found["judge"][2][1:] == (0, 1) and found["mean"][2][1:] == pytest.approx((1 / 3, 1 / 3))
    assert [one.value for one in best_of_figures([first], most=2)["judge"]] == pytest.approx([1 / 3, 1 / 3])
    assert np.isnan([one.value for one in best_of_figures([], most=2)["judge"]]).all()


def test_wrong_candidates_are_one_sentence():
    for scores, truths in (([], []), ([1.0], [1.0, 0.0]), ([[1.0]], [[1.0]])):
        with pytest.raises(InputError, match="as many truths as scores"):
            best_of_curve(scores, truths)
    with pytest.raises(InputError, match="is NaN"):
        best_of_curve([np.nan, 1.0], [0.0, 1.0])
    with pytest.raises(InputError, match="a task has 2 candidates, fewer than 3"):
        best_of_figures([(np.ones(2), np.ones(2))], most=3)
