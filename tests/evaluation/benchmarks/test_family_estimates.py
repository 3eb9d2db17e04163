"""Estimates of a family by hand and by slow loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.evaluation.benchmarks.family_estimates import (
    family_mean,
    medoid_weights,
    medoids_error,
    point_gap,
    random_error,
)

ACCURACIES = st.lists(st.floats(0, 1), min_size=3, max_size=6)


def test_the_order_on_a_point_and_on_the_family_differ():
    """A = (0.9, 0.1), B = (0.6, 0.6): A is better on the first member, B on the family."""
    assert family_mean([0.9, 0.1]) == 0.5 and family_mean([0.6, 0.6]) == 0.6
    assert point_gap([0.9, 0.1], 0) == pytest.approx(0.4, abs=1e-12) and point_gap([0.6, 0.6], 0) == 0
    with pytest.raises(InputError, match="no members"):
        family_mean([])


def test_random_error_by_hand():
    """Mean 0.5; pairs have 0.75, 0.45 and 0.3."""
    assert random_error([0.9, 0.6, 0.0], 2) == pytest.approx((0.25 + 0.05 + 0.2) / 3, abs=1e-12)
    assert random_error([0.9, 0.6, 0.0], 3) == pytest.approx(0, abs=1e-12)


@given(ACCURACIES, st.integers(1, 3))
def test_random_error_by_a_slow_loop(accuracy, count):
    whole = sum(accuracy) / len(accuracy)
    total, number = 0.0, 0
    for some in itertools.combinations(range(len(accuracy)), count):
        total += abs(sum(accuracy[one] for one in some) / count - whole)
        number += 1
    assert random_error(accuracy, count) == pytest.approx(total / number, abs=1e-6)


def test_medoids_by_hand():
    """Places 0, 1, 2 and 10: members 1 and 3 have distances 1, 0, 1 and 0, the smallest sum."""
    weights = medoid_weights(np.array([[0], [1], [2], [10]]), 2)
    assert weights == {1: 0.75, 3: 0.25}
    assert medoids_error([0.9, 0.8, 0.7, 0.0], weights) == pytest.approx(0, abs=1e-12)
    assert medoids_error([0.9, 0.4, 0.7, 0.0], weights) == pytest.approx(abs(0.3 - 0.5), abs=1e-12)


def test_parameters_are_scaled():
    """Without scale the second parameter alone would decide; a constant parameter has no effect."""
    wide = np.array([[0, 0, 5], [0, 100, 5], [1, 0, 5], [1, 100, 5]])
    narrow = wide / np.array([1, 100, 1])
    assert medoid_weights(wide, 2) == medoid_weights(narrow, 2)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=6), st.integers(1, 3), ACCURACIES)
def test_medoids_are_the_best_subset_and_weights_add_up(places, count, accuracy):
    weights = medoid_weights(np.array(places), count)
    assert len(weights) == count and sum(weights.values()) == pytest.approx(1, abs=1e-9)
    spans = [max(one) - min(one) or 1 for one in zip(*places, strict=True)]

    def cost(some):
        total = 0.0
        for place in places:
            total += min(
                sum(((a - b) / span) ** 2 for a, b, span in zip(place, places[one], spans, strict=True)) ** 0.5
                for one in some
            )
        return total

    best = min(cost(some) for some in itertools.combinations(range(len(places)), count))
    assert cost(tuple(weights)) == pytest.approx(best, abs=1e-6)
    everyone = medoid_weights(np.arange(len(accuracy))[:, None], len(accuracy))
    assert medoids_error(accuracy, everyone) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("count", [0, 4])
def test_a_number_out_of_range_is_refused(count):
    with pytest.raises(InputError, match=f"{count} of 3 members"):
        random_error([0.1, 0.2, 0.3], count)
    with pytest.raises(InputError, match=f"{count} of 3 members"):
        medoid_weights(np.zeros((3, 1)), count)
