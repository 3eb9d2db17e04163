"""The method otc_ppo: the efficiency of a rollout falls with its own calls, and siblings do not matter."""

from math import cos, pi

import pytest
from helpers.methods import made

from handaxe.papers.otc.scaled_share import ScaledShare
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


def group_of(task, *attempts):
    """Attempts as (calls, correct)."""
    texts = [["", str(task.answer) if correct else "none"] for _, correct in attempts]
    rollouts = [
        make_trajectory(texts=text, calls=[["calculator"] * count, []], replies=[["1"] * count, []], task=task)
        for text, (count, _) in zip(texts, attempts, strict=True)
    ]
    return make_group(trajectories=rollouts, task=task)


def test_the_reward_falls_with_every_call_of_the_rollout():
    """Smooth 3: 0 calls 1; 1 call cos(pi / 5); 3 calls cos(3 pi / 9) = 0.5; an incorrect answer 0."""
    method = made("otc_ppo")
    task = method.world.tasks("train", 1, 0)[0]
    attempts = [(0, True), (1, True), (3, True), (0, False)]
    outcome = method.reward(group_of(task, *attempts)).outcome
    assert outcome == pytest.approx([1.0, cos(pi / 5), 0.5, 0.0], abs=1e-12)
    alone = [float(method.reward(group_of(task, one)).outcome[0]) for one in attempts]
    assert alone == pytest.approx(outcome)
    grouped = made("otc").reward(group_of(task, *attempts[1:])).outcome
    assert grouped[0] == 1.0  # OTC-GRPO: a single call is the fewest of this group


def test_smooth_slows_the_fall_and_the_learner_counts_scaled_rollouts():
    method = made("otc_ppo", "--smooth", "6")
    task = method.world.tasks("train", 1, 0)[0]
    group = group_of(task, (0, True), (3, True))
    scores = method.reward(group)
    assert scores.outcome == pytest.approx([1.0, cos(pi / 4)])
    (share,) = [one for one in method.learners if isinstance(one, ScaledShare)]
    assert share.learn([make_rated(group=group, scores=scores)], step=0)["rollouts"] == 0.5
