import pytest

pytest.importorskip("reasoning_gym")

from handaxe.core.errors import TaskError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.python import python
from handaxe.worlds.gym import GYM, gym
from handaxe.worlds.parts.demonstrate import demonstrate

FALLS = "The scorer of the package reasoning-gym reads full-width and Arabic-Indic digits as numbers."


def shown(world, task, tools):
    one = demonstrate(world.env(tools), task, world.expert, format=Compact())
    assert world.correct(Group(task, (one,))).outcome[0] == 1
    return one


@pytest.mark.parametrize("tools", [None, (python,)], ids=["calculator", "python"])
def test_the_expert_calculates_answers_of_default_generators(tools):
    world = gym()
    for task in world.tasks("test", 24, 0):
        one = shown(world, task, world.tools if tools is None else tools)
        assert len(one.calls) == 1 and one.replies[0].content == task.answer


def test_the_expert_answers_directly_without_a_suitable_tool():
    world = gym(names=("spell_backward", "lcm", "basic_arithmetic"))
    for task in world.tasks("train", 24, 0):
        assert len(shown(world, task, world.tools).calls) == (task.metadata["generator"] != "spell_backward")


def test_generators_are_drawn_evenly():
    names = [task.metadata["generator"] for task in gym().tasks("train", 300, 0)]
    assert all(70 < names.count(name) < 130 for name in GYM)


def test_no_generator_raises():
    with pytest.raises(TaskError, match="no generators named"):
        gym(names=())
