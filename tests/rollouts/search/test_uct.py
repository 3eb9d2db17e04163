from math import log, sqrt

import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.search.uct import uct


def test_uct_matches_the_docstring_example():
    assert uct()(0.5, 10, 2) == pytest.approx(1.7642, abs=5e-5)


@pytest.mark.parametrize("c", [0.0, 1.414, 1.8])
def test_uct_equals_the_formula(c):
    for value in (-1.0, 0.0, 2.5):
        for parent in range(4):
            for own in range(parent + 1):
                wanted = value + c * sqrt(log(parent + 1) / (own + 1))
                assert uct(c=c)(value, parent, own) == pytest.approx(wanted)


@pytest.mark.parametrize("c", [-1.0, float("nan")])
def test_arguments_out_of_range_are_errors(c):
    with pytest.raises(InputError, match="c from 0"):
        uct(c=c)
