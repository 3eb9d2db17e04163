import re

from handaxe.core.records import Group
from handaxe.models.compact import Compact
from handaxe.papers.adareasoner.renamed_sums import renamed_sums
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, task):
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
    return one, world.correct(Group(task, (one,))).outcome[0]


def test_the_contract():
    check_world(renamed_sums(), count=10)
    check_world(renamed_sums(train=0.0, test=1.0, distracted=0.0), count=6)


def test_every_training_task_and_half_of_the_tests_are_renamed():
    world = renamed_sums()
    assert {one.metadata["renamed"] for one in world.tasks("train", 50, 0)} == {"yes"}
    found = [one.metadata["renamed"] for one in world.tasks("test", 200, 0)]
    assert 70 < found.count("yes") < 130
    tests = [renamed_sums(train=share).tasks("test", 20, 0) for share in (0.0, 1.0)]
    assert tests[0] == tests[1]


def test_the_expert_is_right_under_every_renaming_and_no_name_of_before_is_read():
    world = renamed_sums(test=1.0, distracted=0.0)
    for task in world.tasks("test", 30, 0):
        one, right = played(world, task)
        assert right == 1 and len(one.calls) == 1
        read = Compact().decode(one.sequences[0].ids.tolist())
        assert not re.search("calculator|expression|clock", read)


def test_the_clock_is_of_no_use_and_is_counted():
    always, never = renamed_sums(distracted=1.0), renamed_sums(distracted=0.0)
    for task in [*always.tasks("train", 10, 0), *always.tasks("test", 10, 0)]:
        one, right = played(always, task)
        assert right == 1 and [reply.content for reply in one.replies] == ["12:00", task.answer]
        assert (
            always.gauges["decoy"].top(one, 1.0) == 1 and always.gauges["decoy"].top(played(never, task)[0], 1.0) == 0
        )


def test_the_expert_is_distracted_in_a_share_of_the_tasks():
    world = renamed_sums()
    counts = [len(played(world, task)[0].calls) for task in world.tasks("train", 100, 0)]
    assert 1.3 < sum(counts) / 100 < 1.7


def test_nobody_looks_at_a_clock_that_is_not_there():
    world = renamed_sums(distracted=1.0)
    for task in world.tasks("train", 5, 0):
        one = demonstrate(world.env((calculator,)), task, world.expert, format=Compact())
        assert [reply.content for reply in one.replies] == [task.answer]
