import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.solve_weights import solve_weights


def test_weights_stop_at_constraints_and_limits():
    weights, value = solve_weights(np.array([1.0, 1.0]), np.array([[2.0, 0.0]]), np.array([1.0]), 10.0)
    assert weights == pytest.approx([0.5, 10.0]) and value == pytest.approx(10.5, abs=1e-4)


def test_the_smallest_of_equally_good_weights_is_chosen_and_slacks_cost_their_mean():
    # w1 - w2 >= 1 - x: the slack costs 1, weights cost 1e-6.
    weights, value = solve_weights(np.zeros(2), np.array([[-1.0, 1.0]]), np.array([-1.0]), 10.0, np.array([[-1.0]]))
    assert np.abs(weights).sum() == pytest.approx(1.0) and value == pytest.approx(-1e-6)


def test_traces_become_0_and_contradictions_are_rejected():
    weights, _ = solve_weights(np.array([1.0]), np.array([[1.0]]), np.array([5e-4]), 10.0)
    assert weights.tolist() == [0.0]
    with pytest.raises(InputError, match="larger basis"):
        solve_weights(np.zeros(1), np.array([[1.0], [-1.0]]), np.array([0.0, -1.0]), 10.0)
