from itertools import product

import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.stopping.both_outcomes import both_outcomes


def test_both_outcomes_matches_the_docstring_example():
    rule = both_outcomes(score=float, each=2)
    assert not rule([1, 0, 0], 8) and rule([1, 0, 0, 1], 8) and not rule([], 8)
    assert not rule([1] * 8, 8)


def test_bias_of_the_success_rate_equals_the_documented_figure():
    rule, p, size, expected = both_outcomes(score=float, each=1), 0.2, 8, 0.0
    for outcomes in product([0, 1], repeat=size):
        chance = p ** sum(outcomes) * (1 - p) ** (size - sum(outcomes))
        n = next((n for n in range(1, size) if rule(list(outcomes[:n]), size)), size)
        expected += chance * sum(outcomes[:n]) / n
    assert expected == pytest.approx(0.296, abs=5e-4)


def test_each_below_one_is_an_error():
    with pytest.raises(InputError, match="each >= 1"):
        both_outcomes(score=float, each=0)
