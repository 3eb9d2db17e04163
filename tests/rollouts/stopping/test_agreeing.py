from itertools import product

import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.stopping.agreeing import agreeing


def test_agreeing_matches_the_docstring_example():
    rule = agreeing(score=float, first=3)
    assert not rule([0, 0], 8)
    assert rule([0, 0, 0], 8) and rule([1, 1, 1], 8)
    assert not rule([0, 1, 0], 8)
    assert rule([0, 0, 0, 0], 8)  # still agreeing where several ended at once


def test_share_of_mixed_groups_stopped_equals_the_closed_form():
    """The share of groups that are stopped though they would have been mixed, against all 2^8 groups."""
    rule, p, size, wrong = agreeing(score=float, first=3), 0.2, 8, 0.0
    for outcomes in product([0, 1], repeat=size):
        chance = p ** sum(outcomes) * (1 - p) ** (size - sum(outcomes))
        if any(rule(list(outcomes[:n]), size) for n in range(1, size)) and 0 < sum(outcomes) < size:
            wrong += chance
    assert wrong == pytest.approx(0.2**3 * (1 - 0.2**5) + 0.8**3 * (1 - 0.8**5)) == pytest.approx(0.352, abs=5e-4)


def test_first_below_two_is_an_error():
    with pytest.raises(InputError, match="always agrees with itself"):
        agreeing(score=float, first=1)
