import pytest

pytest.importorskip("reasoning_gym")

from handaxe.core.errors import TaskError
from handaxe.core.records import Group
from handaxe.models.compact import Compact
from handaxe.tools.python import python
from handaxe.worlds.gym import GYM, gym
from handaxe.worlds.parts.demonstrate import demonstrate


def shown(world, task, tools):
    one = demonstrate(world.env(tools), task, world.expert, format=Compact())
    assert world.correct(Group(task, (one,))).outcome[0] == 1
    return one


@pytest.mark.parametrize("tools", [None, (python,)], ids=["calculator", "python"])
def test_the_expert_works_everything_out_that_the_small_generators_ask(tools):
    world = gym()
    for task in world.tasks("test", 24, 0):
        one = shown(world, task, world.tools if tools is None else tools)
        assert len(one.calls) == 1 and one.replies[0].content == task.answer


def test_the_expert_says_the_answer_where_no_tool_helps():
    world = gym(names=("spell_backward", "lcm", "basic_arithmetic"))
    for task in world.tasks("train", 24, 0):
        assert len(shown(world, task, world.tools).calls) == (task.metadata["generator"] != "spell_backward")


def test_generators_are_drawn_in_equal_shares():
    names = [task.metadata["generator"] for task in gym().tasks("train", 300, 0)]
    assert all(70 < names.count(name) < 130 for name in GYM)


def test_no_generator_is_an_empty_data_set():
    with pytest.raises(TaskError, match="no generators named"):
        gym(names=())
