import numpy as np
import pytest

from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.otc.scaled_share import ScaledShare
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory

LAB = "a channel without weight, for the figure that shows the mechanism at work"

TASK = make_task(answer="4")
REWARD = fewer_calls(base=exact_match(), smooth=3.0)


def rated(*attempts, id="t", reward=REWARD):
    """Attempts as (calls, correct)."""
    made = []
    for count, right in attempts:
        calls, replies = [["f"] * count, []], [["1"] * count, []]
        made.append(make_trajectory(texts=["", "4" if right else "5"], calls=calls, replies=replies, task=TASK))
    group = make_group(trajectories=made, task=make_task(id=id, answer="4"))
    return make_rated(group=group, scores=reward(group))


def test_shares_count_correct_rollouts_whose_reward_falls():
    """Fewest calls 1: efficiencies 1 and below 1; a wrong rollout does not count. The other group has one scale."""
    first, second = rated((1, True), (2, True), (2, False), id="a"), rated((1, True), (1, True), id="b")
    assert ScaledShare().learn([first, second], step=0) == {"rollouts": 0.25, "groups": 0.5}


def test_shares_are_0_where_efficiency_changes_no_reward():
    alike = rated((0, True), (0, True), (2, False), id="c")
    assert ScaledShare().learn([alike], step=0) == {"rollouts": 0.0, "groups": 0.0}
    assert ScaledShare().learn([rated((1, False), id="d")], step=0) == {"rollouts": 0.0, "groups": 0.0}
    assert ScaledShare().learn([], step=0) == {"rollouts": 0.0, "groups": 0.0}


def test_an_outer_reward_and_the_form_without_siblings_are_read():
    outer = weighted({"economy": (1.0, fewer_calls(base=exact_match(), smooth=3.0, hindsight=False))})
    one = rated((0, True), (1, True), id="e", reward=outer)
    assert ScaledShare().learn([one], step=3)["rollouts"] == pytest.approx(0.5)
    assert np.allclose(one.scores.channels["economy/efficiency"][0], 1.0)
    ScaledShare().load_state_dict(ScaledShare().state_dict())
