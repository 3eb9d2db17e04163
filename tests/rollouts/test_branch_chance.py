from math import log

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.branch_chance import branch_chance

V = 264


def nats(rise):
    return rise * log(V)


@pytest.mark.parametrize(("rise", "p"), [(0.6, 0.62), (-1, 0.3), (0, 0.5), (3, 1.0), (-3, 0.0)])
def test_branch_chance_matches_the_docstring_example(rise, p):
    assert branch_chance(vocabulary=V)(nats(rise), 7) == pytest.approx(p)


@pytest.mark.parametrize(("row", "p", "branches"), [(4, 0.475, True), (6, 0.3857, False)])
def test_branch_chance_with_penalty_matches_the_docstring_example(row, p, branches):
    found = branch_chance(vocabulary=V, penalty=0.05)(nats(0.5), row)
    assert found == pytest.approx(p, abs=5e-5)
    assert (1 - found <= 0.6) == branches  # U = 0.6


@pytest.mark.parametrize("base", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("row", [0, 3, 19, 20, 30])
def test_branch_chance_equals_the_rule_of_the_released_code(base, row):
    """The code of both papers, for U on a fine grid."""
    chance = branch_chance(vocabulary=V, base=base, weight=0.3, penalty=0.05)
    grid = (np.arange(20_000) + 0.5) / 20_000
    for rise in (-2, -0.3, 0, 0.4, 2):
        allowed = np.clip((grid + 0.3 * rise) * max(0, 1 - 0.05 * row), 0, 1) >= 1 - base
        assert chance(nats(rise), row) == pytest.approx(allowed.mean(), abs=1e-4)
        if row == 0:
            arpo = np.clip(grid - 0.3 * rise, 0, 1) <= base
            assert chance(nats(rise), 0) == pytest.approx(arpo.mean(), abs=1e-4)


def test_above_a_threshold_the_chance_is_zero_or_one():
    chance = branch_chance(vocabulary=V, above=0.5, penalty=0.1)
    assert [chance(nats(rise), 0) for rise in (-0.1, 0, 0.1)] == [0, 0, 1]
    assert [chance(nats(0.5), row) for row in (1, 2)] == [1, 0], "0.6 * 0.9 and 0.6 * 0.8"


@pytest.mark.parametrize("wrong", [{"vocabulary": 1}, {"base": 1.5}, {"penalty": -0.1}])
def test_arguments_out_of_range_are_errors(wrong):
    with pytest.raises(InputError, match="branch_chance has"):
        branch_chance(**{"vocabulary": V} | wrong)
