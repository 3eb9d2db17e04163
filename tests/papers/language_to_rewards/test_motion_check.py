import numpy as np
import pytest

from handaxe.papers.language_to_rewards.motion_check import carry_out, is_carried_out
from handaxe.papers.language_to_rewards.planar_body import REST
from handaxe.papers.language_to_rewards.residual_reward import Targets


def states(**changes):
    """A body at rest for 25 steps, with other numbers."""
    row = REST.copy()
    for name, value in changes.items():
        row[["x", "y", "heading", "height", "vx", "vy", "turn", "climb"].index(name)] = value
    return np.repeat(row[None], 25, axis=0)


def test_is_carried_out_matches_its_example():
    low = states(height=0.55)
    assert is_carried_out(low, Targets(height=0.5)) and not is_carried_out(low, Targets())


@pytest.mark.parametrize(
    "found, goal, right",
    [
        ({}, Targets(), True),
        ({"vx": 0.7}, Targets(speed=0.5), True),
        ({"vx": 0.8}, Targets(speed=0.5), False),
        ({"vy": 0.3}, Targets(), False),
        ({"turn": 0.61}, Targets(turn=1.0), True),
        ({"turn": 0.59}, Targets(turn=1.0), False),
        ({"heading": 6.2}, Targets(heading=0.0), True),
        ({"heading": 0.31}, Targets(heading=0.0), False),
        ({"x": 0.2, "y": 1.3, "vx": 2.0}, Targets(place=(0.0, 1.5)), True),
        ({"x": 0.2, "y": 1.1}, Targets(place=(0.0, 1.5)), False),
    ],
)
def test_is_carried_out_judges_the_mean_error_by_tolerances(found, goal, right):
    assert is_carried_out(states(**found), goal) is right


def test_only_the_last_20_steps_count():
    rows = states()
    rows[:5, 3] = 9.0
    assert is_carried_out(rows, Targets())
    rows[5, 3] = 9.0  # mean height 1 + 8 / 20
    assert not is_carried_out(rows, Targets())


def test_targets_are_carried_out_and_later_segments_replace_earlier_ones():
    both = Targets(height=0.5, speed=0.5)
    assert is_carried_out(carry_out((both,)), both)
    last = carry_out((Targets(height=0.5), Targets(speed=0.5)))
    assert last.shape == (51, 8) and not is_carried_out(last, both)
    assert is_carried_out(last, Targets(speed=0.5))
    assert carry_out((both,)) is carry_out((both,))
