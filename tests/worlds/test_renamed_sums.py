import re

from handaxe.models.compact import Compact
from handaxe.records import Group
from handaxe.testing.worlds import check_world
from handaxe.worlds.demonstrate import demonstrate
from handaxe.worlds.renamed_sums import distracted, renamed_sums, with_names


def played(world, task, expert=None):
    one = demonstrate(world.env(world.tools), task, expert or world.expert, format=Compact())
    return one, world.correct(Group(task, (one,))).outcome[0]


def test_the_contract():
    check_world(renamed_sums(), count=12)
    check_world(renamed_sums(train=1.0, test=1.0), count=6)


def test_half_of_the_tests_and_no_training_task_is_renamed():
    world = renamed_sums()
    assert {one.metadata["renamed"] for one in world.tasks("train", 50, 0)} == {"no"}
    found = [one.metadata["renamed"] for one in world.tasks("test", 200, 0)]
    assert 70 < found.count("yes") < 130


def test_the_expert_is_right_under_every_renaming_and_no_name_of_before_is_read():
    world = renamed_sums(test=1.0)
    for task in world.tasks("test", 30, 0):
        one, right = played(world, task)
        assert right == 1 and len(one.calls) == 1
        read = Compact().decode(one.sequences[0].ids.tolist())
        assert not re.search("calculator|expression|clock", read)


def test_the_clock_is_of_no_use_and_is_counted():
    world = renamed_sums()
    gauge = world.gauges["decoy"]
    expert = distracted(world, share=1.0).expert
    for task in with_names(world.tasks("train", 20, 0), share=0.5):
        one, right = played(world, task, expert)
        assert right == 1 and [reply.content for reply in one.replies] == ["12:00", task.answer]
        assert gauge.top(one, 1.0) == 1 and gauge.top(played(world, task)[0], 1.0) == 0
