import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from handaxe.core.errors import InputError
from handaxe.papers.android_world.parameter_spread import parameter_spread

SUCCESSES = arrays(
    np.float64, st.tuples(st.integers(2, 4), st.integers(2, 4)), elements=st.sampled_from([0.0, 0.5, 1.0])
)


def test_spreads_equal_numbers_by_hand():
    half = 0.5**0.5
    assert parameter_spread(np.array([[1, 1], [0, 0]])) == pytest.approx({"params": half, "policy": 0, "gap": half})
    assert parameter_spread(np.array([[1, 0], [1, 0]])) == pytest.approx({"params": 0, "policy": half, "gap": -half})


def deviation(values):
    mean = sum(values) / len(values)
    return (sum((one - mean) ** 2 for one in values) / (len(values) - 1)) ** 0.5


@settings(max_examples=50)
@given(SUCCESSES)
def test_spreads_equal_a_loop(success_PS):
    rows, columns = success_PS.shape
    params = sum(deviation(list(success_PS[:, place])) for place in range(columns)) / columns
    policy = sum(deviation(list(success_PS[place])) for place in range(rows)) / rows
    found = parameter_spread(success_PS)
    assert found == pytest.approx({"params": params, "policy": policy, "gap": params - policy}, abs=1e-9)
    assert parameter_spread(success_PS.T)["gap"] == pytest.approx(-found["gap"], abs=1e-9)


@pytest.mark.parametrize("values", [[[1.0, 0.0]], [[1.0], [0.0]], [1.0, 0.0], [[np.nan, 1.0], [0.0, 1.0]]])
def test_too_few_seeds_raise(values):
    with pytest.raises(InputError, match="two seeds or more"):
        parameter_spread(np.array(values))
