import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import Group
from handaxe.models.compact import Compact
from handaxe.papers.mixed_r1.mixed import PARTS, mixed
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def test_the_contract():
    check_world(mixed(), count=24)


def test_parts_come_in_turn_and_only_sums_have_tools():
    world = mixed()
    tasks = world.tasks("train", 9, 0)
    assert [task.metadata["part"] for task in tasks] == [*PARTS, *PARTS, PARTS[0]]
    for task in tasks:
        env = world.env(world.tools)(task)
        assert [tool.name for tool in env.start()[1]] == (["calculator"] if task.metadata["part"] == "sums" else [])
        env.close()


def test_gauges_are_of_their_part():
    world = mixed(loose=0.0)
    tops, bottoms = {"iou": [], "words": []}, {"iou": [], "words": []}
    for task in world.tasks("train", 4, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        for name, gauge in world.gauges.items():
            tops[name].append(gauge.top(one, 1.0))
            bottoms[name].append(gauge.bottom(one, 1.0))
    assert tops == {"iou": [0, 1, 0, 0], "words": [0, 0, 0, 7]}
    assert bottoms == {"iou": [0, 1, 0, 0], "words": [0, 0, 0, 1]}


def test_bad_input():
    with pytest.raises(TaskError, match="empty"):
        mixed().tasks("train", 0, 0)
