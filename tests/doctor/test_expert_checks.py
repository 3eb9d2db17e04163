from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Message, Scores
from handaxe.doctor.expert_checks import check_empty, check_expert, check_limits, play_demonstrations
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.calculator import calculator
from handaxe.worlds.arithmetic import arithmetic

FORMAT = Compact()
ENV = tool_chat([calculator])


@pytest.fixture(scope="module")
def world():
    return arithmetic()


def played(world, count=4):
    return play_demonstrations(world, ENV, FORMAT, tasks=world.tasks("train", count, 0))


def constant(value):
    return lambda group: Scores(np.full(len(group), value))


def test_sound_world_passes(world):
    found = played(world)
    assert len(found.expert) == len(found.empty) == 4
    expert = check_expert(found, world.correct, world.correct)
    assert (expert.level, expert.figures["reward"], expert.figures["empty_reward"]) == ("ok", 1, 0)
    assert check_empty(found, world.correct).level == "ok"


def test_incorrect_expert_is_an_error(world):
    incorrect = replace(world, expert=lambda task, facts: Message("assistant", "7"))
    found = check_expert(played(incorrect), world.correct, world.correct)
    assert found.level == "error" and "correct on 0 of 4 tasks" in found.found and "'7' (completed)" in found.found


def test_expert_that_is_incorrect_on_one_task_of_eight_is_a_warning(world):
    first = world.tasks("train", 1, 0)[0].id

    def nearly(task, facts):
        return Message("assistant", "7") if task.id == first else world.expert(task, facts)

    found = check_expert(played(replace(world, expert=nearly), 8), world.correct, world.correct)
    assert found.level == "warning" and "correct on 7 of 8" in found.found


def test_expert_that_raises_is_an_error(world):
    def broken(task, facts):
        raise KeyError("gold")

    found = played(replace(world, expert=broken))
    assert "KeyError: 'gold'" in check_expert(found, world.correct, world.correct).found
    assert check_expert(found, world.correct, world.correct).level == "error"


def test_world_without_expert_is_a_warning(world):
    found = played(replace(world, expert=None))
    assert check_expert(found, world.correct, world.correct).level == "warning" and not found.expert
    assert check_empty(found, world.correct).level == "ok"
    limits = check_limits(found, world, ENV, FORMAT, rollout=world.make_rollout(3), max_tokens=48, context=512)
    assert limits.level == "warning" and "is unknown" in limits.found


def test_empty_answer_that_counts_as_correct_is_an_error(world):
    found = check_empty(played(world), constant(1.0))
    assert found.level == "error" and "on 4 of 4" in found.found and "accepts an empty answer" in found.remedy


def test_reward_that_prefers_empty_answers_is_an_error(world):
    def silence(group):
        return Scores(np.array([float(not one.final_text) for one in group]))

    found = check_expert(played(world), world.correct, silence)
    assert found.level == "error" and "mean reward 0, of the empty answer 1" in found.found
    assert check_expert(played(world), world.correct, constant(0.5)).level == "warning"


@pytest.mark.parametrize(
    ("turns", "max_tokens", "context", "level", "by"),
    [
        (3, 48, 512, "ok", ""),
        (1, 48, 512, "error", "turns"),
        (3, 4, 512, "error", "tokens"),
        (3, 48, 40, "error", "length"),
    ],
)
def test_limits_that_truncate_the_expert_are_an_error(world, turns, max_tokens, context, level, by):
    found = check_limits(
        played(world), world, ENV, FORMAT, rollout=world.make_rollout(turns), max_tokens=max_tokens, context=context
    )
    assert found.level == level and by in found.found, found
    assert bool(found.remedy) == (level != "ok")
