import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.memento.soft_q import kernel_values, retrieval_policy, soft_target

VALUES = st.lists(st.floats(-3, 3), min_size=1, max_size=6)


def test_retrieval_policy_by_hand():
    assert retrieval_policy(np.array([1.0, 0.0]), alpha=0.5) == pytest.approx([0.880797, 0.119203], abs=1e-6)
    assert retrieval_policy(np.array([1.0, 0.0]), alpha=1e-3) == pytest.approx([1.0, 0.0], abs=1e-9)


@given(VALUES, st.floats(0.1, 2))
def test_retrieval_policy_maximizes_value_plus_entropy(values, alpha):
    """No other distribution is better: the closed form against random ones."""
    q_N, rng = np.array(values), np.random.default_rng(0)

    def objective(share_N):
        return share_N @ q_N - alpha * np.sum(share_N * np.log(np.maximum(share_N, 1e-300)))

    best = objective(retrieval_policy(q_N, alpha=alpha))
    assert all(objective(share_N) <= best + 1e-9 for share_N in rng.dirichlet(np.ones(len(q_N)), size=20))
    assert best == pytest.approx(soft_target(0.0, q_N, gamma=1.0, alpha=alpha), abs=1e-9)


def test_soft_target_by_hand():
    assert soft_target(0.0, np.array([1.0, 1.0]), gamma=1.0, alpha=0.5) == pytest.approx(1 + 0.5 * np.log(2))
    assert soft_target(0.3, np.array([2.0]), gamma=0.5, alpha=1.0) == pytest.approx(1.3)
    assert soft_target(1.0, np.array([]), gamma=0.9, alpha=1.0) == 1.0


@given(VALUES, st.floats(0.1, 2), st.floats(0, 1))
def test_soft_target_equals_a_loop(values, alpha, gamma):
    total = 0.0
    for value in values:
        total += np.exp(value / alpha)
    assert soft_target(0.5, np.array(values), gamma=gamma, alpha=alpha) == pytest.approx(
        0.5 + gamma * alpha * np.log(total), abs=1e-6
    )


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
    with pytest.raises(InputError, match="retrieval policy"):
        retrieval_policy(np.array([]), alpha=1.0)
    with pytest.raises(InputError, match="soft target"):
        soft_target(0.0, np.array([1.0]), gamma=2.0, alpha=1.0)
    with pytest.raises(InputError, match="do not fit"):
        kernel_values(np.ones((2, 3)), np.ones(2))
