import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.ops.pearson import pearson


def test_the_correlation_by_hand():
    assert pearson([0, 1, 2], [0, 1, 1]) ** 2 == pytest.approx(0.75)
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1)


@pytest.mark.parametrize("constant", [[1, 1, 1], [0.1, 0.1, 0.1], [2 / 3] * 10, []])
def test_a_constant_side_has_no_correlation(constant):
    """The mean of 0.1, 0.1 and 0.1 is not 0.1 in float64."""
    assert pearson(constant, constant) == 0.0
    assert pearson(constant, range(len(constant))) == pearson(range(len(constant)), constant) == 0.0


@pytest.mark.slow
@given(st.integers(2, 9), st.integers(0, 99))
def test_the_correlation_equals_a_loop_and_numpys(size, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, size))
    cross = sum((a - x.mean()) * (b - y.mean()) for a, b in zip(x, y, strict=True))
    spread = sum((a - x.mean()) ** 2 for a in x) * sum((b - y.mean()) ** 2 for b in y)
    assert pearson(x, y) == pytest.approx(cross / spread**0.5, abs=1e-9)
    assert pearson(x, y) == pytest.approx(float(np.corrcoef(x, y)[0, 1]), abs=1e-6)
