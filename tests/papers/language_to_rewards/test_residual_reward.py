import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.language_to_rewards.residual_reward import (
    Targets,
    motion_residuals,
    motion_reward,
    residual_reward,
    wrap_angle,
)

STATE = np.array([1.0, 2.0, math.pi / 2, 1.2, 0.5, 1.0, -0.3, 0.0])
"""At (1, 2), facing north, height 1.2, velocity (0.5, 1), turning to the right at 0.3."""
CONTROL = np.array([0.2, 0.0, -1.0, 0.0])


def test_residual_reward_matches_its_example():
    residuals = {"a": np.array([0.2]), "b": np.array([-1.0])}
    norms = {"a": "quadratic", "b": "quadratic"}
    assert residual_reward(residuals, weights={"a": 1.0, "b": 0.5}, norms=norms) == pytest.approx(-0.27, abs=1e-12)


def test_residual_reward_takes_the_smooth_absolute_value_by_default():
    # sqrt(0.24^2 + 0.1^2) - 0.1 = 0.26 - 0.1 = 0.16, and 0 of a residual of 0; weight 2
    found = residual_reward({"a": np.array([[0.24, 0.0]])}, weights={"a": 2.0}, norms={})
    assert found.shape == (1,) and found[0] == pytest.approx(-0.32, abs=1e-12)


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(-3, 3), st.booleans()), min_size=1, max_size=4))
def test_residual_reward_equals_a_loop_and_is_at_most_0(rows):
    names = [str(k) for k in range(len(rows))]
    found = residual_reward(
        {name: np.array([value]) for name, (_, value, _) in zip(names, rows, strict=True)},
        weights={name: weight for name, (weight, _, _) in zip(names, rows, strict=True)},
        norms={name: "quadratic" if square else "smooth" for name, (_, _, square) in zip(names, rows, strict=True)},
    )
    total = 0.0
    for weight, value, square in rows:
        total -= weight * (value * value / 2 if square else math.sqrt(value * value + 0.01) - 0.1)
    assert found == pytest.approx(total, abs=1e-9) and found <= 1e-12


@pytest.mark.parametrize("weights, norms", [({}, {}), ({"a": -1.0}, {}), ({"a": 1.0}, {"a": "cubic"})])
def test_residual_reward_refuses_a_bad_weight_or_norm(weights, norms):
    with pytest.raises(InputError, match="residual 'a' has the weight"):
        residual_reward({"a": np.zeros(1)}, weights=weights, norms=norms)


def test_motion_residuals_by_hand():
    found = motion_residuals(STATE, CONTROL, Targets(height=0.5, speed=0.4, turn=1.0))
    assert set(found) == {"height", "effort", "speed", "turn"}
    assert found["height"] == pytest.approx([0.7]) and found["turn"] == pytest.approx([-1.3])
    # facing north: forward is along y (1 - 0.4), left is along -x (-0.5)
    assert found["speed"] == pytest.approx([0.6, -0.5]) and found["effort"] is CONTROL
    found = motion_residuals(STATE, CONTROL, Targets(heading=-math.pi, place=(0.0, 1.5)))
    assert set(found) == {"height", "effort", "place", "heading"}
    assert found["place"] == pytest.approx([1.0, 0.5]) and found["heading"] == pytest.approx([-math.pi / 2])


def test_motion_reward_weighs_the_residuals():
    at_goal = np.array([0.0, 1.5, 0.0, 1.0, 0, 0, 0, 0])
    goal = Targets(heading=0.0, place=(0.0, 1.5))
    assert motion_reward(at_goal, np.zeros(4), goal) == pytest.approx(0.0, abs=1e-12)
    # effort of control (1, 0, 0, 0): 0.02 * 1 / 2
    assert motion_reward(at_goal, np.array([1.0, 0, 0, 0]), goal) == pytest.approx(-0.01, abs=1e-12)
    raised = at_goal + np.array([0, 0, 0, 0.24, 0, 0, 0, 0])
    assert motion_reward(raised, np.zeros(4), goal) == pytest.approx(-4 * 0.16, abs=1e-9)


@given(st.floats(-20, 20))
def test_wrap_angle_keeps_the_direction(angle):
    found = float(wrap_angle(np.array(angle)))
    assert -math.pi - 1e-9 <= found <= math.pi + 1e-9
    assert math.cos(found) == pytest.approx(math.cos(angle), abs=1e-9)
    assert math.sin(found) == pytest.approx(math.sin(angle), abs=1e-9)
