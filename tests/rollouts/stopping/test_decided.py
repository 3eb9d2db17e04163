from itertools import product

import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.stopping.decided import decided


def says(rule, outcomes, size):
    """The rule asked about attempts with these outcomes."""
    return rule(list(outcomes), size)


def make(**options):
    return decided(score=float, **options)


def test_decided_matches_the_docstring_example():
    rule = make(low=0.25, high=0.75)
    assert says(rule, [1, 0, 0, 0, 0, 0, 0], 8)
    assert says(rule, [1] * 6, 8)
    assert not says(rule, [1, 1, 1, 1, 1, 0, 0], 8)
    assert not says(rule, [], 8)


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (0.25, 0.75), (0.2, 0.5), (0.0, 0.6)])
@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_decided_equals_enumeration_of_all_continuations(low, high, size):
    """Against the loop over everything that the rest may do."""
    rule = make(low=low, high=high)
    for n in range(1, size + 1):
        for ended in product([0, 1], repeat=n):
            ends = [(sum(ended) + sum(rest)) / size for rest in product([0, 1], repeat=size - n)]
            low_out, high_out = all(share <= low for share in ends), all(share >= high for share in ends)
            assert says(rule, ended, size) == (low_out or high_out)


def test_failed_rollouts_only_delay_the_decision():
    """3 of 4 ended and the fourth died: 1 success of 3 is in the band of (0.3, 0.9), and it is not stopped."""
    assert not says(make(low=0.3, high=0.9), [1, 0, 0], 4)


def test_surplus_trajectories_count():
    assert says(make(low=0.25, high=0.75), [1] * 6, 4)


def test_bounds_out_of_order_are_errors():
    for low, high in ((0.5, 0.5), (0.8, 0.2), (-0.1, 1.0), (0.0, 1.1)):
        with pytest.raises(InputError, match="0 <= low < high <= 1"):
            make(low=low, high=high)
