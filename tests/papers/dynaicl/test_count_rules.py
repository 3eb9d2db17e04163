import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.dynaicl.count_rules import allocate_counts, count_reward, minimal_count


@pytest.mark.parametrize(
    "accuracies, threshold, label",
    [
        ((0.2, 0.6, 0.9), 0.5, 1),
        ((0.2, 0.6, 0.9), 0.95, 2),
        ((0.9, 0.1), 0.5, 0),
        ((0.1, 0.4, 0.4), 0.5, 1),
        ((0,), 0.5, 0),
    ],
)
def test_minimal_count_by_hand(accuracies, threshold, label):
    assert minimal_count(accuracies, threshold=threshold) == label


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0, 1))
def test_minimal_count_equals_a_loop(accuracies, threshold):
    label, best = None, 0
    for k, accuracy in enumerate(accuracies):
        if label is None and accuracy > threshold:
            label = k
        if accuracy > accuracies[best]:
            best = k
    assert minimal_count(accuracies, threshold=threshold) == (best if label is None else label)


def test_reward_by_hand():
    assert count_reward(1.0, 3, cost=0.1) == pytest.approx(0.7) and count_reward(0.0, 0, cost=0.1) == 0


def test_allocation_by_hand():
    assert allocate_counts([1, 2, 3], tokens=12, length=1) == [2, 4, 6]
    assert allocate_counts([1, 2, 3], tokens=12, length=1, most=4) == [2, 4, 4]
    assert allocate_counts([1, 2, 3], tokens=60, length=10, beta=0.5) == [0, 1, 2]
    assert allocate_counts([0, 0], tokens=9, length=1) == [0, 0]


@given(st.lists(st.floats(0, 4), min_size=1, max_size=8), st.floats(0, 50), st.floats(0.5, 20), st.floats(0.1, 1))
def test_allocation_equals_a_loop(predicted, tokens, length, beta):
    mean = sum(predicted) / len(predicted)
    found = allocate_counts(predicted, tokens=tokens, length=length, beta=beta)
    for own, wanted in zip(found, predicted, strict=True):
        exact = beta * wanted / mean * tokens / (len(predicted) * length) if mean else 0.0
        assert abs(own - exact) <= 0.5 + 1e-6 * exact
    assert np.sum(found) * length <= beta * tokens + 0.5 * length * len(predicted) + 1e-6 * tokens


def test_numbers_out_of_range_are_refused():
    with pytest.raises(InputError, match="k = 0"):
        minimal_count([], threshold=0.5)
    with pytest.raises(InputError, match=">= 0"):
        count_reward(1.0, -1, cost=0.1)
    for bad in ({"tokens": -1, "length": 1}, {"tokens": 1, "length": 0}, {"tokens": 1, "length": 1, "beta": 0}):
        with pytest.raises(InputError, match="allocation"):
            allocate_counts([1], **bad)
