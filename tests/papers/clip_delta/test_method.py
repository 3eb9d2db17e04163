"""Constants of the method clip_delta, read by the tests of every method (tests/papers)."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.rewards.bounded_steps import bound_steps
from handaxe.testing.make_records import make_group, make_task, make_trajectory

pytest.importorskip("bm25s")

ABOUT_REWARDS = True
UNBOUNDED = {"calls": "how many calls the raw process rewards cause is what the claim measures"}


def test_the_reward_adds_bounded_steps_to_the_outcome():
    """Two good calls and an answer, judged 0.9, 0.9 and 0.5: raw adds them, clip and delta change their order."""
    one = make_trajectory(texts=["", "", "4"], calls=[["search"], ["search"], []], replies=[["a"], ["b"], []])
    group, rho = make_group(trajectories=[one], task=make_task(answer="4")), np.array([0.9, 0.9, 0.5])
    for form in ("raw", "clip", "delta", "clip_delta"):
        scores = made("clip_delta", "--form", form, "--noise", "0").reward(group)
        assert scores.turns[0].tolist() == pytest.approx((0.5 * bound_steps(rho, form, 0.5)).tolist(), abs=1e-9)
