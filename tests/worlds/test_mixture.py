from dataclasses import replace

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.calls import calls
from handaxe.worlds.mixture import mixture
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.screen.world import screen

PARTS = {"number": arithmetic(), "call": calls(), "box": screen(answer="box")}


def test_mixture_keeps_the_contract_of_worlds():
    check_world(mixture({"number": PARTS["number"], "box": PARTS["box"]}), count=12)


def test_tasks_follow_the_cycle_of_the_weights():
    world = mixture(PARTS, weights={"number": 2, "call": 1, "box": 1})
    made = world.tasks("train", 6, 0)
    assert [one.metadata["part"] for one in made] == ["number", "number", "call", "box", "number", "number"]
    numbers = PARTS["number"].tasks("train", 4, 0)
    assert [one.id for one in made if one.metadata["part"] == "number"] == [one.id for one in numbers]


def test_sparse_mixture_takes_each_task_at_its_position():
    made = mixture(PARTS, dense=False).tasks("test", 5, 1)
    lists = [world.tasks("test", 5, 1) for world in PARTS.values()]
    assert [one.id for one in made] == [lists[position % 3][position].id for position in range(5)]


def test_each_task_has_the_tools_and_the_score_of_its_world():
    world = mixture(PARTS)
    offered = {"number": {"calculator", "compute"}, "call": {"calculator", "compute"}, "box": set()}
    for task in world.tasks("train", 9, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert {tool.name for tool in one.tools} == offered[task.metadata["part"]]
        assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_mixture_has_an_expert_only_if_every_world_has_one():
    assert mixture({"a": PARTS["number"], "b": replace(PARTS["call"], expert=None)}).expert is None


@pytest.mark.parametrize("parts, weights", [({}, None), (PARTS, {"number": 1}), (PARTS, dict.fromkeys(PARTS, 0))])
def test_bad_weights_raise(parts, weights):
    with pytest.raises(InputError, match="weight of 1 or more"):
        mixture(parts, weights=weights)


def test_empty_task_list_raises():
    with pytest.raises(TaskError, match="empty"):
        mixture(PARTS).tasks("train", 0, 0)
