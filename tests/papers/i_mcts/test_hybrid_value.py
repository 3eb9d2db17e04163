import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.i_mcts.hybrid_value import hybrid_priority, hybrid_value, unit_score

UNIT = st.floats(0, 1)


def test_unit_scores_by_hand():
    assert unit_score(0.25, low_is_better=True) == 0.8
    assert unit_score(0.25, low_is_better=False) == 0.25
    with pytest.raises(InputError, match="an error is 0 or more"):
        unit_score(-0.1, low_is_better=True)


def test_hybrid_values_by_hand():
    assert hybrid_value(0.8, 0.0, 0) == 0.8
    assert hybrid_value(0.8, 0.6, 1) == pytest.approx(0.8 / 6 + 0.6 * 5 / 6, abs=1e-9)
    # v = 2: w = 2 / 3 after one visit, 1 / 2 after two
    assert hybrid_value(0.8, 0.6, 1, virtual=2.0) == pytest.approx(0.7333333, abs=1e-6)
    assert hybrid_value(0.8, 1.2, 2, virtual=2.0) == pytest.approx(0.7, abs=1e-9)
    assert hybrid_value(0.8, 0.6, 1, virtual=0.0) == 0.6


@given(UNIT, UNIT, st.integers(1, 10**6))
def test_the_hybrid_value_moves_from_the_estimate_to_the_mean(estimate, mean, visits):
    value = hybrid_value(estimate, mean * visits, visits)
    assert abs(value - mean) <= abs(estimate - mean) * 0.2 / (visits + 0.2) + 1e-9
    assert min(estimate, mean) - 1e-9 <= value <= max(estimate, mean) + 1e-9


def test_priorities_by_hand():
    assert hybrid_priority()(0.5, 0.0, 0, 2) == pytest.approx(0.5 + 2 * math.sqrt(math.log(2) / 0.2), abs=1e-5)
    plain = hybrid_priority(virtual=0.8, hybrid=False)
    assert plain(0.9, 0.0, 0, 3) == pytest.approx(2 * math.sqrt(math.log(3) / 0.8), abs=1e-5)
    assert plain(0.9, 1.2, 2, 3) == pytest.approx(0.6 + 2 * math.sqrt(math.log(3) / 2), abs=1e-5)
    assert hybrid_priority(c=0)(0.8, 0.6, 1, 1) == pytest.approx(0.6333333, abs=1e-6)


@pytest.mark.parametrize("call", [lambda: hybrid_priority(c=-1), lambda: hybrid_priority(virtual=0)])
def test_bad_weights_raise(call):
    with pytest.raises(InputError, match="a priority takes c from 0"):
        call()
    with pytest.raises(InputError, match="visits"):
        hybrid_value(0.5, 0.0, -1)
