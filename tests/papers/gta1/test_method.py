"""Constants of the method gta1, read by the tests of every method (tests/papers)."""

from handaxe.commands.configure import parse_train
from handaxe.core.records import Group, Message, ToolCall
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
EVALUATES_FORCED = True
DEAD_PARTS = {"near"}
SHORT = ["--judge-steps", "1"]
FORMAT = Compact(TinyImageProcessor(8))


def made(*words):
    chosen = parse_train("gta1", list(words), prog="handaxe train", also={})[0]
    world = make_world(chosen)
    return make_method(chosen, world), world


def clicking(x, y):
    return lambda task, facts: Message("assistant", "", (ToolCall("click", {"point": f"{x} {y}"}),))


def test_hits_are_rewarded_on_every_unit_of_the_target_and_distance_by_choice():
    method, world = made()
    near, _ = made("--hit", "0", "--near", "1")
    (task,) = world.tasks("train", 1, 0)
    left, top, right, bottom = task.metadata["box"]
    points = ((left, top), (right - 1, bottom - 1), (right, top), (7 - left, 7 - top))
    group = Group(
        task, tuple(demonstrate(world.env(world.tools), task, clicking(*one), format=FORMAT) for one in points)
    )
    wanted = [float(left <= x < right and top <= y < bottom) for x, y in points]
    assert method.reward(group).outcome.tolist() == wanted == world.correct(group).outcome.tolist()
    assert wanted[:3] == [1, 1, 0] and 0 < near.reward(group).outcome[2] < 1
    assert near.reward(group).channels["hit"].tolist() == wanted
