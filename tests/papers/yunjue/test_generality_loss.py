import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.yunjue.generality_loss import generality_loss


def test_four_tools_in_fifty_tasks_are_80():
    created = [1] * 4 + [0] * 46 + [1] + [0] * 49
    assert generality_loss(created, window=50).tolist() == [80, 20]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 15))
def test_the_loss_is_that_of_a_loop(created, window):
    expected, start = [], 0
    while start < len(created):
        total, tasks = 0, 0
        for one in created[start : start + window]:
            total, tasks = total + one, tasks + 1
        expected.append(1000 * total / tasks)
        start += window
    np.testing.assert_allclose(generality_loss(created, window=window), expected, atol=1e-6)


@pytest.mark.parametrize("created, window", [([], 1), ([-1], 1), ([1], 0), ([[1]], 1)])
def test_bad_arguments_raise(created, window):
    with pytest.raises(InputError, match="give counts of 0 or more"):
        generality_loss(created, window=window)
