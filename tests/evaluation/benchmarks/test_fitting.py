"""Rollouts whose task does not fit the context have no score; long answers have one."""

from dataclasses import replace

import pytest

from handaxe.core.records import Ending, Group
from handaxe.evaluation.benchmarks.fitting import FittingReward, fits
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.make_records import make_trajectory


def opened(start, *, finish="stop", text="x", cost=0.0, ending="completed"):
    """A rollout whose first turn begins after `start` tokens."""
    one = make_trajectory(texts=[text], finish=[finish], ending=ending)
    return replace(one, turns=(replace(one.turns[0], start=start, stop=start + 2, cost=cost),))


@pytest.mark.parametrize(("start", "fit"), [(100, True), (448, True), (449, False), (600, False)])
def test_opening_and_room_decide(start, fit):
    assert fits(opened(start), 512, 64) is fit


def test_a_cut_answer_has_a_score():
    """What the policy writes never takes a rollout out of the score."""
    assert fits(opened(100, finish="length", text="", ending="truncated"), 512, 64)


def test_a_rollout_without_a_turn_does_not_fit_if_it_was_cut():
    none = replace(make_trajectory(), turns=())
    assert not fits(replace(none, ending=Ending("truncated", "length")), 512, 64)
    assert fits(replace(none, ending=Ending("policy_error", "x")), 512, 64)


@pytest.mark.parametrize(
    ("text", "finish", "cost", "fit"),
    [("", "length", 0.0, False), ("", "length", 30.0, True), ("", "stop", 0.0, True), ("a", "length", 0.0, True)],
    ids=["refused", "thought until the limit", "empty", "cut"],
)
def test_a_request_that_a_server_refuses_does_not_fit(text, finish, cost, fit):
    one = opened(100_000, text=text, finish=finish, cost=cost)
    assert fits(one, 512, 64, served=True) is fit


def test_reward_leaves_out_what_does_not_fit_and_scores_the_rest():
    short = replace(opened(100), id="short")
    long = replace(opened(500), id="long")
    reward = FittingReward(outcome(lambda one: 1.0), 512, 64)
    group, scores = score_group(reward, Group(short.task, (short, long)))
    assert scores.outcome[0] == 1 and scores.outcome[1] != scores.outcome[1]
    assert [one.ending.kind for one in group] == ["completed", "verifier_error"]
    assert reward.left_out == {"long"}
