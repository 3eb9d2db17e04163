"""What recipes make of rewards: the order of what attempts earn."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Ending, ToolCall, ToolReply
from handaxe.methods.build import make_method, make_world
from handaxe.testing.records import make_group, make_trajectory


def method_of(name, *words):
    chosen = parse_train(name, list(words), prog="handaxe train", also={"run": RunOptions})[0]
    world = make_world(chosen)
    return make_method(chosen, world), world


def reward_of(name, *words):
    method, world = method_of(name, *words)
    return method.reward, world


CALLS = {4: ToolCall("calculator", {"expression": "1+1"}), 2: ToolCall("calculator", {"text": "1+1"}), 0: None}


def test_adareasoner_gives_more_to_any_right_answer_than_to_any_call():
    reward, world = reward_of("adareasoner", "--world.train", "0")
    (task,) = world.tasks("train", 1, 0)
    tools = world.env(world.tools)(task).start()[1]

    def attempt(scores, answer, **options):
        calls = [[CALLS[score]] if CALLS[score] else [] for score in scores]
        one = make_trajectory(texts=[""] * len(scores) + [answer], calls=[*calls, []], task=task, **options)
        return replace(one, tools=tools)

    wrong = [attempt(scores, "no") for n in range(4) for scores in itertools.product(CALLS, repeat=n)]
    right = [attempt(scores, task.answer) for n in range(4) for scores in itertools.product(CALLS, repeat=n)]
    broken = [
        attempt((4,), task.answer, errors=[["not JSON"], []]),
        attempt((4,), task.answer, ending=Ending("truncated", "turns")),
    ]
    found = reward(make_group(task=task, trajectories=[*wrong, *right, *broken])).outcome
    assert set(found[len(wrong) : -2]) == {8.0} and found[: len(wrong)].max() == 4.0 and set(found[-2:]) == {0.0}
    by_hand = {(4, 2, 0): 3.0, (4, 0, 2): 2.0, (): 0.0}
    for scores, value in by_hand.items():
        assert reward(make_group(task=task, trajectories=[attempt(scores, "no")])).outcome[0] == pytest.approx(value)


def test_verltool_credits_the_first_turn_for_calls_that_ran():
    """MT-GRPO by hand. Attempt 0 is right after ok; attempt 1 is wrong after failed, ok; sample std.

    outcome   1, 0                                              ->   0.7071 and -0.7071
    calls     .3 * 1 + .05 * 1 = .35, .3 * .5 + .05 * 1 = .2    ->   0.7071 and -0.7071, in the first turn alone
    """
    method, world = method_of("verltool", "--turn-weight", "0.5")
    (task,) = world.tasks("train", 1, 0)
    failed = ToolReply("0-0", "calculator", "", "failed")

    def attempt(replies, answer):
        calls = [["calculator"]] * len(replies)
        return make_trajectory(
            texts=[""] * len(replies) + [answer], calls=[*calls, []], replies=[*replies, []], task=task
        )

    group = make_group(task=task, trajectories=[attempt([["2"]], task.answer), attempt([[failed], ["2"]], "no")])
    said = method.credit(group, method.reward(group))
    for one, sign, (adv,) in zip(group, (1, -1), said.tokens, strict=True):
        for number, turn in enumerate(one.turns):
            expected = sign * (0.70711 + (0.5 * 0.70711 if number == 0 else 0.0))
            own = adv[turn.start : turn.stop]
            assert len(own) and own == pytest.approx(np.full(len(own), expected), abs=1e-4)
    plain, _ = method_of("verltool")
    alone = plain.credit(group, plain.reward(group))
    base = method_of("grpo_no_kl")[0]
    assert alone.tokens[0][0].tolist() == base.credit(group, base.reward(group)).tokens[0][0].tolist()


def test_agentmath_pays_right_answers_alone_for_few_calls():
    """few / (calls + 1) of a right answer: 1 + 0.1, 1 + 0.1 / 2, 1 + 0.1 / 3; nothing of a wrong one."""
    reward, world = reward_of("agentmath")
    (task,) = world.tasks("train", 1, 0)

    def attempt(calls, answer):
        return make_trajectory(texts=[""] * calls + [answer], calls=[*[["step"]] * calls, []], task=task)

    group = make_group(task=task, trajectories=[attempt(n, said) for said in (task.answer, "no") for n in range(3)])
    assert reward(group).outcome == pytest.approx([1.1, 1.05, 1 + 0.1 / 3, 0, 0, 0])
