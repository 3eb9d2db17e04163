import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.memento.kernel_values import kernel_values


def test_kernel_values_by_hand():
    found = kernel_values(np.array([[1.0, 0.5], [0.0, 0.0], [0.0, 2.0]]), np.array([1.0, 0.0]))
    assert found == pytest.approx([2 / 3, 0.0, 0.0])


@given(st.integers(0, 1000))
def test_kernel_values_equal_a_loop(seed):
    rng = np.random.default_rng(seed)
    kernel_NI, return_I = rng.random((3, 4)), rng.random(4)
    for n, found in enumerate(kernel_values(kernel_NI, return_I)):
        top = sum(kernel_NI[n, i] * return_I[i] for i in range(4))
        assert found == pytest.approx(top / sum(kernel_NI[n, i] for i in range(4)), abs=1e-9)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="do not fit"):
        kernel_values(np.ones((2, 3)), np.ones(2))
