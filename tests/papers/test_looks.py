"""Rewards of methods in the world plates: the numbers of the papers, and no dead part."""

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Group, Message, ToolCall
from handaxe.credit.group_norm import group_norm
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import CALL_END, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

PATCHES = TinyImageProcessor(8)


def method_of(name, *words):
    made = parse_train(name, list(words), prog="handaxe train", also={"run": RunOptions})[0]
    return make_method(made, make_world(made))


def task_of(method, needs="yes", where=lambda task: True):
    tasks = method.world.tasks("train", 200, 0)
    return next(one for one in tasks if one.metadata["needs_tool"] == needs and where(one))


def attempt(method, task, *looks, says=None, broken=False):
    """A rollout that looks at regions, one a turn, and then answers; broken: with a malformed call."""
    lines = [Message("assistant", "", (ToolCall("zoom", {"box": look}),)) for look in looks]
    lines.append(Message("assistant", str(task.answer) if says is None else says))
    form = (_Broken if broken else Compact)(PATCHES)
    env = method.world.env(method.world.tools)
    return demonstrate(env, task, lambda task, facts: lines[min(facts["turn"], len(looks))], format=form, max_turns=4)


class _Broken(Compact):
    """Leaves the first call open."""

    def encode_turn(self, message, tools):
        ids = super().encode_turn(message, tools)
        return [one for one in ids if one != CALL_END]


def outcomes(method, *attempts):
    return method.reward(Group(attempts[0].task, attempts)).outcome.tolist()


def region(task):
    return " ".join(map(str, task.metadata["gold"]))


@pytest.mark.slow
def test_deepeyes_rewards_a_correct_answer_with_a_look_by_2():
    """The paper's numbers are 2, 0.8, 0 and -0.2; a format of 1 and 0 instead of 0 and -1 adds 0.2 to each."""
    method = method_of("deepeyes")
    task = task_of(method)
    look = region(task)
    attempts = [attempt(method, task, look), attempt(method, task), attempt(method, task, look, says="no")]
    attempts.append(attempt(method, task, look, says="no", broken=True))
    assert outcomes(method, *attempts) == pytest.approx([2.2, 1.0, 0.2, 0.0])
    assert outcomes(method, attempt(method, task, says="1" * 1000)) == [0]
    easy = task_of(method, needs="no")
    assert outcomes(method, attempt(method, easy), attempt(method, easy, look, says="no")) == pytest.approx([1.6, 0.4])
    never, always = (
        method_of("deepeyes", "--bonus", "0"),
        method_of("deepeyes", "--bonus", "0", "--unconditional-bonus", "1.2"),
    )
    assert outcomes(never, *attempts) == pytest.approx([1.0, 1.0, 0.2, 0.0])
    assert outcomes(always, *attempts[:3]) == pytest.approx([2.2, 1.0, 1.4])


@pytest.mark.parametrize("name", ["deepeyes"])
@pytest.mark.parametrize("needs", ["yes", "no"])
def test_every_part_of_a_reward_varies_between_siblings(name, needs):
    method = method_of(name)
    task = task_of(method, needs=needs)
    whole = "0 0 8 8"
    attempts = [attempt(method, task, region(task)), attempt(method, task), attempt(method, task, whole, says="no")]
    attempts += [attempt(method, task, region(task), broken=True), attempt(method, task, whole, whole, says="no")]
    group = Group(task, tuple(attempts))
    scores = method.reward(group)
    idle = {name for name, values in scores.channels.items() if np.ptp(values) == 0}
    assert not idle
    advantages = group_norm(std="sample")(group, scores)
    assert len({round(float(one[0].max() + one[0].min()), 9) for one in advantages.tokens}) >= 3
