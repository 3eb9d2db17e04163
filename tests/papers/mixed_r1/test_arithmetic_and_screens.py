import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.mixed_r1.arithmetic_and_screens import PARTS, arithmetic_and_screens
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def test_arithmetic_and_screens_keeps_the_world_contract():
    check_world(arithmetic_and_screens(), count=24)


def test_parts_alternate_and_only_sums_have_tools():
    world = arithmetic_and_screens()
    tasks = world.tasks("train", 9, 0)
    assert [task.metadata["part"] for task in tasks] == [*PARTS, *PARTS, PARTS[0]]
    for task in tasks:
        env = world.env(world.tools)(task)
        assert [tool.name for tool in env.start()[1]] == (["calculator"] if task.metadata["part"] == "sums" else [])
        env.close()


def test_metrics_count_their_part_only():
    world = arithmetic_and_screens(loose=0.0)
    tops, bottoms = {"iou": [], "words": []}, {"iou": [], "words": []}
    for task in world.tasks("train", 4, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        for name, gauge in world.gauges.items():
            tops[name].append(gauge.top(one, 1.0))
            bottoms[name].append(gauge.bottom(one, 1.0))
    assert tops == {"iou": [0, 1, 0, 0], "words": [0, 0, 0, 7]}
    assert bottoms == {"iou": [0, 1, 0, 0], "words": [0, 0, 0, 1]}


def test_an_empty_task_list_raises():
    with pytest.raises(TaskError, match="empty"):
        arithmetic_and_screens().tasks("train", 0, 0)
