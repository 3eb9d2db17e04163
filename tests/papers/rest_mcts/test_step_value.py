import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.rest_mcts.step_value import step_value


def test_step_value_by_hand():
    """0 + 1/3; 1/3 + (2/3)/2 = 2/3; 2/3 + (1/3)/1 = 1; a wrong step after the first: 1/3 - (2/3)/3 = 1/9."""
    first = step_value(0.0, distance=2, wrong=False)
    assert first == pytest.approx(1 / 3, abs=1e-12)
    assert step_value(first, distance=1, wrong=False) == pytest.approx(2 / 3, abs=1e-12)
    assert step_value(2 / 3, distance=0, wrong=False) == pytest.approx(1.0, abs=1e-12)
    assert step_value(first, distance=2, wrong=True) == pytest.approx(1 / 9, abs=1e-12)
    assert step_value(0.1, distance=0, wrong=True) == 0.0


@given(st.floats(0, 1), st.integers(0, 20), st.booleans())
def test_values_stay_between_0_and_1_and_follow_the_sign(previous, distance, wrong):
    value = step_value(previous, distance=distance, wrong=wrong)
    assert 0 <= value <= 1 + 1e-12
    assert value <= previous if wrong else value >= previous


@given(st.integers(1, 12))
def test_a_correct_solution_of_k_steps_rises_in_equal_parts(steps):
    value = 0.0
    for k in range(steps):
        value = step_value(value, distance=steps - k - 1, wrong=False)
        assert value == pytest.approx((k + 1) / steps, abs=1e-9)


@pytest.mark.parametrize("given_", [(-0.1, 1), (1.1, 1), (0.5, -1)])
def test_numbers_out_of_range_are_errors(given_):
    with pytest.raises(InputError, match="previous from 0 to 1"):
        step_value(given_[0], distance=given_[1], wrong=False)
