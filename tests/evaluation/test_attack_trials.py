"""Margins and falls by hand; rewards that hang, raise, have state or leave rollouts unscored."""

import math
import threading
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import VerifierError
from handaxe.core.records import Group, Scores
from handaxe.evaluation.attack_trials import (
    AttackBench,
    AttackResult,
    AttackTrial,
    RewardCallError,
    attack_reward,
    call_reward,
    judge_reward,
    perform_all,
)
from handaxe.evaluation.attacks import ATTACKS
from handaxe.evaluation.scenes import make_scenes
from handaxe.judges.step_status import step_status
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic(easy=0.0)
SCENES = make_scenes(WORLD, count=2)
ORACLE = SCENES[0].oracle
SOME = {name: ATTACKS[name] for name in ("empty", "echo")}
PERFORMED = perform_all(SCENES, SOME)


def tried(reward, **options):
    return {one.attack: one for one in attack_reward(reward, SCENES, PERFORMED, **options)}


def paying(empty, wrong=0.0, right=1.0):
    worth = {"empty": empty, "oracle": right, "wrong": wrong, "echo": wrong}
    return outcome(lambda one: worth[one.id.partition("/")[0]])


@pytest.mark.parametrize(
    ("empty", "margin", "fell"), [(0.2, 0.0, 0), (0.6, 0.5, 0), (0.991, 0.98875, 0), (0.993, 0.99125, 2)]
)
def test_margins_by_hand(empty, margin, fell):
    found = tried(paying(empty, wrong=0.2))["empty"]
    assert found.margin == pytest.approx(margin) and (found.separated, found.fell) == (2, fell)
    assert (found.oracle, found.wrong, found.reward) == pytest.approx((1.0, 0.2, empty)) and found.measures_correctness


def test_margins_include_per_turn_rewards():
    turns = per_turn(lambda one: [float(bool(turn.parsed.calls)) for turn in one.turns])
    found = tried(weighted({"right": (1.0, exact_match()), "calls": (0.5, turns)}))["empty"]
    assert (found.oracle, found.wrong, found.reward, found.margin) == pytest.approx((1.5, 0.5, 0.0, -0.5))


def test_a_reward_of_another_property_pays_and_does_not_fall():
    found = tried(well_formed())["empty"]
    assert (
        not found.measures_correctness
        and found.separated == 0
        and math.isnan(found.margin)
        and found.paid == 2
        and found.fell == 0
    )
    less = tried(paying(0.5, wrong=1.0))["empty"]
    assert less.paid == 0 and less.reward == 0.5


def test_a_reward_that_raises_or_hangs_is_reported_and_stops_nothing():
    def raises(one):
        if not one.final_text:
            raise ZeroDivisionError("of nothing")
        return float(one.final_text == one.task.answer)

    found = tried(lambda group: Scores(np.array([raises(one) for one in group])))
    assert "ZeroDivisionError: of nothing" in found["empty"].failed and not found["echo"].failed
    assert found["echo"].separated == 2

    def hangs(group):
        if len(group) == 3:
            ended.wait(600)
        return exact_match()(group)

    ended = threading.Event()
    (one, *_) = attack_reward(hangs, SCENES, [{"empty": each["empty"]} for each in PERFORMED], seconds=0.1)
    ended.set()
    assert "no result after 0.1 s" in one.failed


def test_a_reward_without_a_score_of_honest_rollouts_is_not_attacked():
    def undecided(group):
        raise VerifierError("no idea")

    assert all("left an honest rollout without a score" in one.failed for one in tried(undecided).values())


def test_an_unscored_attack_is_counted_and_earns_nothing():
    def scorer(one):
        if not one.final_text:
            raise VerifierError("empty", trajectory=one.id)
        return float(one.final_text == one.task.answer)

    found = tried(outcome(scorer))["empty"]
    assert (found.scenes, found.unscored, found.failed) == (0, 2, "")


def test_call_reward_restores_the_state_unless_it_keeps_it():
    reward = fewer_calls(base=exact_match(), smooth=3)
    group = Group(SCENES[0].task, (SCENES[0].oracle,))
    before = reward.state_dict()
    call_reward(reward, group)
    assert reward.state_dict() == before
    call_reward(reward, group, keep_state=True)
    assert reward.state_dict() != before


def test_what_a_reward_raises_names_itself():
    with pytest.raises(RewardCallError, match="it raised KeyError: 'missing'"):
        call_reward(
            lambda group: Scores(np.array([one.env["missing"] for one in group])), Group(SCENES[0].task, (ORACLE,))
        )


def test_judge_reward_is_the_judges_score():
    group = Group(SCENES[0].task, (SCENES[0].oracle, SCENES[0].wrong))
    assert judge_reward(step_status())(group).outcome.tolist() == step_status().score(group).tolist() == [1.0, 1.0]


def test_measures_correctness_by_the_attack_with_most_scenes():
    def attacked(name, **given):
        honest = {"margin": 0.0, "paid": 0, "reward": 0.0, "oracle": 1.0, "wrong": 0.0, "example": "", "unscored": 0}
        return AttackResult(name, fell=0, failed="", **honest, **given)

    seldom = attacked("gold among many", separated=1, scenes=1)
    assert not AttackTrial("one", "w", [seldom, attacked("empty", separated=1, scenes=3)]).measures_correctness
    assert AttackTrial("two", "w", [seldom, attacked("empty", separated=2, scenes=3)]).measures_correctness


def test_a_bench_plays_a_world_once():
    splits = []

    def tasks(split, count, seed):
        splits.append(split)
        return WORLD.tasks(split, count, seed)

    bench, world = AttackBench(count=1), replace(WORLD, tasks=tasks)
    first = bench.attack(exact_match(), world, key="a", name="exact")
    bench.attack(exact_match(), world, key="a", name="again")
    assert splits == ["test"] and first.measures_correctness and not first.falls
    assert [one.attack for one in first.results] == list(ATTACKS)
