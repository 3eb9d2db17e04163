from dataclasses import replace

import numpy as np

from handaxe import rewards
from handaxe.ops.seeds import generator
from handaxe.papers.codedance.turn_bonus import turn_bonus
from handaxe.testing.records import make_group, make_rated, make_trajectory
from handaxe.testing.rewards import check_reward

GROUP = make_group(trajectories=[make_trajectory(texts=[text]) for text in "abcdefgh"])
LETTER = rewards.weighted({"letter": (1.0, rewards.outcome(lambda one: sum(map(ord, one.final_text))))})


def test_the_same_outcomes_for_others():
    scores, dealt = LETTER(GROUP), rewards.shuffled(LETTER, seed=1)(GROUP)
    assert sorted(dealt.outcome) == sorted(scores.outcome) and list(dealt.outcome) != list(scores.outcome)
    assert list(dealt.channels["letter"]) == list(dealt.outcome)
    assert list(rewards.shuffled(LETTER, seed=2)(GROUP).outcome) != list(dealt.outcome)


def test_a_slow_loop_deals_them_alike():
    order = generator("shuffled", 3, GROUP.step, GROUP.task.id).permutation(8)
    ids = sorted(one.id for one in GROUP)
    by_id = {one.id: value for one, value in zip(GROUP, LETTER(GROUP).outcome)}
    want = {ids[k]: by_id[ids[order[k]]] for k in range(8)}
    dealt = rewards.shuffled(LETTER, seed=3)(GROUP)
    assert {one.id: value for one, value in zip(GROUP, dealt.outcome)} == want


def test_contract():
    check_reward(rewards.shuffled(LETTER), GROUP)


def test_turns_are_added_in_first():
    turned = rewards.per_turn(lambda one: [2.0] * len(one.turns))
    dealt = rewards.shuffled(turned)(GROUP)
    assert dealt.turns is None and list(dealt.outcome) == [2.0] * 8


RAGGED = make_group(trajectories=[make_trajectory(texts=["a"] * n) for n in (3, 1, 2)])
STEPS = rewards.weighted(
    {
        "whole": (1.0, rewards.outcome(lambda one: float(len(one.turns) > 1))),
        "steps": (0.0, rewards.per_turn(lambda one: [10.0 * len(one.turns) + k for k in range(len(one.turns))])),
    }
)


def test_what_turns_are_given_is_dealt_out_over_all_turns():
    scores, dealt = STEPS(RAGGED), rewards.shuffled(STEPS)(RAGGED)
    was, now = (np.concatenate(one.turn_channels["steps"]) for one in (scores, dealt))
    assert [len(own) for own in dealt.turn_channels["steps"]] == [3, 1, 2]
    assert sorted(now) == sorted(was) and list(now) != list(was)
    order = generator("shuffled turns", 0, RAGGED.step, RAGGED.task.id).permutation(6)
    by_id = [30.0, 31.0, 32.0, 10.0, 20.0, 21.0]
    assert [one.id for one in RAGGED] == sorted(one.id for one in RAGGED)
    assert list(dealt.turn_channels["steps"][1]) == [by_id[order[3]]]
    turned = replace(RAGGED, trajectories=RAGGED.trajectories[::-1])
    again = rewards.shuffled(STEPS)(turned).turn_channels["steps"][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(dealt.turn_channels["steps"], again, strict=True))
    rated = make_rated(group=RAGGED, scores=dealt)
    assert len(turn_bonus(channel="steps")([rated])) == 1


def test_who_counts_goes_with_the_score():
    """Else a control would take its statistics over other siblings than the recipe."""
    early = rewards.outcome(lambda one: float(one.final_text < "e"))
    half = rewards.gate(on=early, then=LETTER, otherwise=LETTER, mark_eligible=True)
    scores, dealt = half(GROUP), rewards.shuffled(half, seed=1)(GROUP)
    counts = dict(zip(scores.outcome, scores.eligible))
    assert [counts[value] for value in dealt.outcome] == list(dealt.eligible) != list(scores.eligible)
    assert rewards.shuffled(LETTER)(GROUP).eligible is None
