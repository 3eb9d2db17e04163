"""Constants of the method ophiuchus, read by the tests of every method (tests/papers), and its reward."""

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Group, Message, ToolCall
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import CALL_END, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

SHORT = ["--reflection-steps", "2"]
ABOUT_REWARDS = True

PATCHES = TinyImageProcessor(8)


class Broken(Compact):
    """Leaves calls open."""

    def encode_turn(self, message, tools):
        return [one for one in super().encode_turn(message, tools) if one != CALL_END]


@pytest.fixture(scope="module")
def method():
    pytest.importorskip("skimage")
    made = parse_train("ophiuchus", [], prog="handaxe train", also={"run": RunOptions})[0]
    return make_method(made, make_world(made))


def task_of(method, kind):
    return next(one for one in method.world.tasks("train", 60, 0) if one.metadata["kind"] == kind)


def attempt(method, task, *calls, says, form=Compact):
    """A rollout with (tool, box) calls, one a turn, and an answer."""
    lines = [Message("assistant", "", (ToolCall(name, {"box": box}),)) for name, box in calls]
    lines.append(Message("assistant", says))
    env = method.world.env(())
    return demonstrate(env, task, lambda _, facts: lines[min(facts["turn"], len(calls))], format=form(PATCHES))


def gold(task):
    return " ".join(map(str, task.metadata["gold"]))


def test_a_box_earns_answer_overlap_and_tool_use(method):
    task = task_of(method, "box")
    left, top, right, bottom = (int(side) for side in task.answer.split())
    look, third = ("segment", gold(task)), left + (right - left) // 3
    attempts = [
        attempt(method, task, look, says=task.answer),
        attempt(method, task, says=task.answer),
        attempt(method, task, look, says=f"{left} {top} {third} {bottom}"),
        attempt(method, task, look, says="no"),
        attempt(method, task, look, says=task.answer, form=Broken),
    ]
    share = ((right - left) // 3) / (right - left)
    scores = method.reward(Group(task, tuple(attempts)))
    assert scores.outcome == pytest.approx([1 + 1 + 0.5 + 1.2, 1 + 1 + 0.5, 1 + 0.5 * share, 1, 0])
    assert not {name for name, values in scores.channels.items() if np.ptp(values) == 0}


def test_an_area_earns_the_dice_of_the_last_mask(method):
    task = task_of(method, "area")
    look = ("measure", gold(task))
    attempts = [
        attempt(method, task, look, says=task.answer),
        attempt(method, task, says=task.answer),
        attempt(method, task, look, says="1"),
    ]
    dice = method.reward(Group(task, tuple(attempts))).channels["task/overlap"]
    assert dice[0] == dice[2] >= 0.9 and dice[1] == 0
    outcome = method.reward(Group(task, tuple(attempts))).outcome
    assert outcome == pytest.approx([1 + 1 + 0.5 * dice[0] + 1.2, 2, 1 + 0.5 * dice[0]])


def test_a_place_needs_no_tool(method):
    task = task_of(method, "at")
    attempts = [attempt(method, task, says=task.answer), attempt(method, task, says="no")]
    assert method.reward(Group(task, tuple(attempts))).outcome == pytest.approx([2.5, 1])
