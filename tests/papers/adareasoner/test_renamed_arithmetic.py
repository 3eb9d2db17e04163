import re

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.adareasoner.renamed_arithmetic import renamed_arithmetic
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, task):
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
    return one, world.correct(Group(task, (one,))).outcome[0]


def test_renamed_arithmetic_keeps_the_world_contract():
    check_world(renamed_arithmetic(), count=10)
    check_world(renamed_arithmetic(train=0.0, test=1.0, distracted=0.0), count=6)


def test_all_training_tasks_and_half_of_the_test_tasks_are_renamed():
    world = renamed_arithmetic()
    assert {one.metadata["renamed"] for one in world.tasks("train", 50, 0)} == {"yes"}
    found = [one.metadata["renamed"] for one in world.tasks("test", 200, 0)]
    assert 70 < found.count("yes") < 130
    tests = [renamed_arithmetic(train=share).tasks("test", 20, 0) for share in (0.0, 1.0)]
    assert tests[0] == tests[1]


def test_the_expert_is_correct_with_drawn_names_only():
    world = renamed_arithmetic(test=1.0, distracted=0.0)
    for task in world.tasks("test", 30, 0):
        one, right = played(world, task)
        assert right == 1 and len(one.calls) == 1
        read = Compact().decode(one.sequences[0].ids.tolist())
        assert not re.search("calculator|expression|clock", read)


def test_calls_of_the_clock_are_counted():
    always, never = renamed_arithmetic(distracted=1.0), renamed_arithmetic(distracted=0.0)
    for task in [*always.tasks("train", 10, 0), *always.tasks("test", 10, 0)]:
        one, right = played(always, task)
        assert right == 1 and [reply.content for reply in one.replies] == ["12:00", task.answer]
        assert (
            always.gauges["decoy"].top(one, 1.0) == 1 and always.gauges["decoy"].top(played(never, task)[0], 1.0) == 0
        )


def test_the_expert_is_distracted_at_the_given_rate():
    world = renamed_arithmetic()
    counts = [len(played(world, task)[0].calls) for task in world.tasks("train", 100, 0)]
    assert 1.3 < sum(counts) / 100 < 1.7


def test_the_expert_ignores_a_missing_clock():
    world = renamed_arithmetic(distracted=1.0)
    for task in world.tasks("train", 5, 0):
        one = demonstrate(world.env((calculator,)), task, world.expert, format=Compact())
        assert [reply.content for reply in one.replies] == [task.answer]
