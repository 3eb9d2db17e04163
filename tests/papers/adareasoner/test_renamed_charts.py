import re

import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.adareasoner.renamed_charts import renamed_charts
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

FORMAT = Compact(TinyImageProcessor(8))


def played(world, task, tools=None):
    one = demonstrate(world.env(world.tools if tools is None else tools), task, world.expert, format=FORMAT)
    return one, world.correct(Group(task, (one,))).outcome[0]


def hard(world, split, count):
    return [task for task in world.tasks(split, count, 0) if task.metadata["needs_tool"] == "yes"]


def test_renamed_charts_keeps_the_world_contract():
    check_world(renamed_charts(), count=10)
    check_world(renamed_charts(train=0.0, test=1.0, distracted=0.0), count=6)


def test_all_training_tasks_and_half_of_the_test_tasks_are_renamed():
    world = renamed_charts()
    assert {one.metadata["renamed"] for one in world.tasks("train", 50, 0)} == {"yes"}
    found = [one.metadata["renamed"] for one in world.tasks("test", 200, 0)]
    assert 70 < found.count("yes") < 130
    tests = [renamed_charts(train=share).tasks("test", 20, 0) for share in (0.0, 1.0)]
    assert tests[0] == tests[1]


def test_the_expert_is_correct_with_drawn_names_only():
    world = renamed_charts(test=1.0, distracted=0.0)
    for task in hard(world, "test", 30):
        one, right = played(world, task)
        assert right == 1 and len(one.calls) == 1 and len(one.replies[0].images) == 1
        read = FORMAT.decode(one.sequences[0].ids.tolist())
        assert not re.search("zoom|box|clock", read)


def test_calls_of_the_clock_are_counted():
    always, never = renamed_charts(distracted=1.0), renamed_charts(distracted=0.0)
    for task in [*hard(always, "train", 10), *hard(always, "test", 10)]:
        one, right = played(always, task)
        assert right == 1 and one.replies[0].content == "12:00" and len(one.replies) == 2
        assert always.gauges["decoy"].top(one, 1.0) == 1
        assert always.gauges["decoy"].top(played(never, task)[0], 1.0) == 0


def test_the_expert_is_distracted_at_the_given_rate():
    world = renamed_charts()
    counts = [len(played(world, task)[0].calls) for task in hard(world, "train", 150)]
    assert 1.3 < sum(counts) / len(counts) < 1.7


def test_the_expert_ignores_a_missing_clock():
    world = renamed_charts(distracted=1.0)
    for task in hard(world, "train", 8):
        one, right = played(world, task, tools=())
        assert right == 1 and len(one.replies) == 1
