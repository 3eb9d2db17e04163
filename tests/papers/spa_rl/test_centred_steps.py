import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.spa_rl.centred_steps import centred_steps
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "subtracts the mean of the siblings from another judge; see spa_rl"
CONTRACT: list[dict] = []  # its scores depend on the siblings, which those of a judge do not


class Fixed:
    def __init__(self, steps):
        self.steps = [np.array(own, float) for own in steps]

    def score_steps(self, group):
        return tuple(self.steps)


def centred(*steps):
    group = make_group(trajectories=[make_trajectory(texts=["a"] * len(own)) for own in steps])
    return centred_steps(judge=Fixed(steps)).score_steps(group)


def test_each_turn_is_compared_with_the_other_siblings_at_this_turn():
    found = centred([0.1, 0.5, 0.4], [0.3, 0.1])
    assert [own.tolist() for own in found] == [pytest.approx([-0.2, 0.4, 0]), pytest.approx([0.2, -0.4])]


def test_a_profile_shared_by_all_siblings_is_zero():
    found = centred(*[[0.1, 0.3, 0.9]] * 3)
    assert np.abs(found).max() < 1e-15


def test_a_lone_rollout_is_zero():
    assert centred([0.3, 0.7])[0].tolist() == [0, 0]


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=5), min_size=1, max_size=5))
def test_centring_equals_a_loop_over_siblings(steps):
    for i, own in enumerate(centred(*steps)):
        for k, value in enumerate(own):
            others = [steps[j][k] for j in range(len(steps)) if j != i and len(steps[j]) > k]
            assert value == pytest.approx(steps[i][k] - sum(others) / len(others) if others else 0.0, abs=1e-12)


def test_a_judge_without_step_scores_raises():
    with pytest.raises(InputError, match="score_steps"):
        centred_steps(judge=object())
