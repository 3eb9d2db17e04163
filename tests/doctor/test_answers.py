from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Message, Scores
from handaxe.doctor.answers import check_empty, check_expert, check_room, show
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.compact import Compact
from handaxe.tools.calculator import calculator
from handaxe.worlds.sums import sums

FORMAT = Compact()
ENV = tool_chat([calculator])


@pytest.fixture(scope="module")
def world():
    return sums()


def shown(world, count=4):
    return show(world, ENV, FORMAT, tasks=world.tasks("train", count, 0))


def constant(value):
    return lambda group: Scores(np.full(len(group), value))


def test_a_sound_world(world):
    found = shown(world)
    assert len(found.expert) == len(found.empty) == 4
    expert = check_expert(found, world.correct, world.correct)
    assert (expert.level, expert.figures["reward"], expert.figures["empty_reward"]) == ("ok", 1, 0)
    assert check_empty(found, world.correct).level == "ok"


def test_an_expert_that_is_wrong(world):
    wrong = replace(world, expert=lambda task, facts: Message("assistant", "7"))
    found = check_expert(shown(wrong), world.correct, world.correct)
    assert found.level == "wrong" and "right on 0 of 4 tasks" in found.found and "'7' (completed)" in found.found


def test_an_expert_that_is_wrong_on_one_task_of_eight_is_looked_at(world):
    first = world.tasks("train", 1, 0)[0].id

    def nearly(task, facts):
        return Message("assistant", "7") if task.id == first else world.expert(task, facts)

    found = check_expert(shown(replace(world, expert=nearly), 8), world.correct, world.correct)
    assert found.level == "look" and "right on 7 of 8" in found.found


def test_an_expert_that_raises(world):
    def broken(task, facts):
        raise KeyError("gold")

    found = shown(replace(world, expert=broken))
    assert "KeyError: 'gold'" in check_expert(found, world.correct, world.correct).found
    assert check_expert(found, world.correct, world.correct).level == "wrong"


def test_no_expert(world):
    found = shown(replace(world, expert=None))
    assert check_expert(found, world.correct, world.correct).level == "look" and not found.expert
    assert check_empty(found, world.correct).level == "ok"
    room = check_room(found, world, ENV, FORMAT, rollout=world.plays(3), max_tokens=48, context=512)
    assert room.level == "look" and "is not known" in room.found


def test_an_empty_answer_that_counts_as_right(world):
    found = check_empty(shown(world), constant(1.0))
    assert found.level == "wrong" and "on 4 of 4" in found.found and "paid" in found.remedy


def test_a_reward_that_pays_for_silence(world):
    def silence(group):
        return Scores(np.array([float(not one.final_text) for one in group]))

    found = check_expert(shown(world), world.correct, silence)
    assert found.level == "wrong" and "earns 0, the empty answer 1" in found.found
    assert check_expert(shown(world), world.correct, constant(0.5)).level == "look"


@pytest.mark.parametrize(
    ("turns", "max_tokens", "context", "level", "by"),
    [
        (3, 48, 512, "ok", ""),
        (1, 48, 512, "wrong", "turns"),
        (3, 4, 512, "wrong", "tokens"),
        (3, 48, 40, "wrong", "length"),
    ],
)
def test_room_that_the_expert_needs(world, turns, max_tokens, context, level, by):
    found = check_room(
        shown(world), world, ENV, FORMAT, rollout=world.plays(turns), max_tokens=max_tokens, context=context
    )
    assert found.level == level and by in found.found, found
    assert bool(found.remedy) == (level != "ok")
