from dataclasses import replace

import numpy as np

from handaxe import rewards
from handaxe.ops.seeds import generator
from handaxe.papers.codedance.turn_bonus import turn_bonus
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.testing.rewards import check_reward

CONTRACT = []
LAB = "the permuted-reward control carries no information"


GROUP = make_group(trajectories=[make_trajectory(texts=[text]) for text in "abcdefgh"])
LETTER = rewards.weighted({"letter": (1.0, rewards.outcome(lambda one: sum(map(ord, one.final_text))))})


def test_outcomes_move_to_other_siblings():
    scores, dealt = LETTER(GROUP), rewards.permuted(LETTER, seed=1)(GROUP)
    assert sorted(dealt.outcome) == sorted(scores.outcome) and list(dealt.outcome) != list(scores.outcome)
    assert list(dealt.channels["letter"]) == list(dealt.outcome)
    assert list(rewards.permuted(LETTER, seed=2)(GROUP).outcome) != list(dealt.outcome)


def test_permuted_equals_a_slow_loop():
    order = generator("shuffled", 3, GROUP.step, GROUP.task.id).permutation(8)
    ids = sorted(one.id for one in GROUP)
    by_id = {one.id: value for one, value in zip(GROUP, LETTER(GROUP).outcome)}
    want = {ids[k]: by_id[ids[order[k]]] for k in range(8)}
    dealt = rewards.permuted(LETTER, seed=3)(GROUP)
    assert {one.id: value for one, value in zip(GROUP, dealt.outcome)} == want


def test_permuted_keeps_the_contract():
    check_reward(rewards.permuted(LETTER), GROUP)


def test_turns_are_added_before_the_permutation():
    turned = rewards.per_turn(lambda one: [2.0] * len(one.turns))
    dealt = rewards.permuted(turned)(GROUP)
    assert dealt.turns is None and list(dealt.outcome) == [2.0] * 8


RAGGED = make_group(trajectories=[make_trajectory(texts=["a"] * n) for n in (3, 1, 2)])
STEPS = rewards.weighted(
    {
        "whole": (1.0, rewards.outcome(lambda one: float(len(one.turns) > 1))),
        "steps": (0.0, rewards.per_turn(lambda one: [10.0 * len(one.turns) + k for k in range(len(one.turns))])),
    }
)


def test_turn_channels_are_permuted_over_all_turns():
    scores, dealt = STEPS(RAGGED), rewards.permuted(STEPS)(RAGGED)
    was, now = (np.concatenate(one.turn_channels["steps"]) for one in (scores, dealt))
    assert [len(own) for own in dealt.turn_channels["steps"]] == [3, 1, 2]
    assert sorted(now) == sorted(was) and list(now) != list(was)
    order = generator("shuffled turns", 0, RAGGED.step, RAGGED.task.id).permutation(6)
    by_id = [30.0, 31.0, 32.0, 10.0, 20.0, 21.0]
    assert [one.id for one in RAGGED] == sorted(one.id for one in RAGGED)
    assert list(dealt.turn_channels["steps"][1]) == [by_id[order[3]]]
    turned = replace(RAGGED, trajectories=RAGGED.trajectories[::-1])
    again = rewards.permuted(STEPS)(turned).turn_channels["steps"][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(dealt.turn_channels["steps"], again, strict=True))
    rated = make_rated(group=RAGGED, scores=dealt)
    assert len(turn_bonus(channel="steps")([rated])) == 1


def test_eligibility_moves_with_the_score():
    """A control takes its statistics over the same siblings as the method."""
    early = rewards.outcome(lambda one: float(one.final_text < "e"))
    half = rewards.gate(on=early, then=LETTER, otherwise=LETTER, mark_eligible=True)
    scores, dealt = half(GROUP), rewards.permuted(half, seed=1)(GROUP)
    counts = dict(zip(scores.outcome, scores.eligible))
    assert [counts[value] for value in dealt.outcome] == list(dealt.eligible) != list(scores.eligible)
    assert rewards.permuted(LETTER)(GROUP).eligible is None
