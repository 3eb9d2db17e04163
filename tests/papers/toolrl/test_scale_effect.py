import numpy as np
import pytest

from handaxe.papers.toolrl.scale_effect import scale_effect
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.schedules import shift
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "a channel without weight, for the figure that shows the mechanism at work"

CONTRACT = [{"parts": {"turns": (lambda step: 2.0, outcome(lambda one: len(one.turns)))}, "last": {"turns": 1.0}}]
VALUES = {"a": (3.0, 1.0), "b": (1.0, 1.0), "c": (-2.0, 0.0)}


def group(step):
    return make_group(trajectories=[make_trajectory(texts=[name]) for name in VALUES], step=step)


def parts(calls, form):
    rewards = [outcome(lambda one, k=k: VALUES[one.final_text][k]) for k in range(2)]
    return {"calls": (calls, rewards[0]), "format": (form, rewards[1])}


def test_effect_equals_the_worked_example():
    made = {"x": (lambda step: 2.0, outcome(lambda one: float(one.final_text == "a")))}
    pair = make_group(trajectories=[make_trajectory(texts=[name]) for name in "ab"])
    assert scale_effect(parts=made, last={"x": 1.0})(pair).outcome == pytest.approx([0.5, 0.5])


def test_effect_is_the_difference_of_two_weighted_rewards_around_their_means():
    calls = shift(0.67, 1.0, at=0, over=20)
    form = shift(2.0, 1.0, at=0, over=20)
    last = {"calls": 1.0, "format": 1.0}
    for step in (0, 7, 25):
        one, slow = group(step), []
        now = weighted(parts(calls, form))(one).outcome
        then = weighted(parts(1.0, 1.0))(one).outcome
        for i in range(len(one)):
            slow.append(abs((now[i] - sum(now) / len(now)) - (then[i] - sum(then) / len(then))))
        assert np.allclose(scale_effect(parts=parts(calls, form), last=last)(one).outcome, slow, atol=1e-12)
    assert not slow[0] and not any(slow)  # after the change


def test_constant_weights_have_no_effect():
    same = parts(lambda step: 1.0, lambda step: 1.0)
    assert not np.any(scale_effect(parts=same, last={"calls": 1.0, "format": 1.0})(group(0)).outcome)
