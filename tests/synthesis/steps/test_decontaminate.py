"""Planted test tasks are refused; templates are not."""

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.decontaminate import decontaminate
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic

STORY = "Anna has twelve apples and gives five of them to her brother Tom on a rainy Monday"


def task(text, answer, *, system=""):
    opening = (Message("system", system),) if system else ()
    return Task("", (*opening, Message("user", text)), answer)


TESTS = [task("4071 boss ally?", "1390"), task(STORY, "7"), task("Is it so?", ["yes", "Yes!"])]


def reason(one, **options):
    (outcome,) = decontaminate(TESTS, **options).run([task_draft(one)], SynthesisContext(0))
    return outcome.reason


PART = "part of a test task with its answer"


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (task("4071 BOSS  ally", "other"), "a test task"),
        (task("4071 boss ally", "1390", system="Be brief."), "a test task"),
        (task("So: 4071 boss ally", "1390"), PART),
        (task("So: 4071 boss ally", "1391"), ""),
        (task("4071 boss?", "5526"), ""),
        (task("Today Anna has twelve apples and gives five of it", "7"), PART),
        (task("Today Anna has twelve apples and gives five of it", "8"), ""),
        (task("Today Anna has twelve apples and gives two", "7"), ""),
        (task("And is it so, then", "yes"), PART),
        (task("And is it so, then", ["no", "YES"]), PART),
    ],
)
def test_copies_and_parts_of_test_tasks_are_dropped(one, expected):
    assert reason(one) == expected


def test_the_length_of_an_ngram_counts():
    short = task("Today Anna has twelve apples", "7")
    assert (reason(short), reason(short, words=4)) == ("", PART)


def test_every_planted_task_of_a_world_is_refused_and_its_training_tasks_are_kept():
    world = arithmetic()
    tests = world.tasks("test", 200, 0)
    step = decontaminate(tests)
    planted = step.run([task_draft(one) for one in tests], SynthesisContext(0))
    assert {one.reason for one in planted} == {"a test task"}
    clean = step.run([task_draft(one) for one in world.tasks("train", 200, 0)], SynthesisContext(0))
    assert {one.reason for one in clean} == {""}


def test_the_tests_are_part_of_the_settings():
    assert decontaminate(TESTS).settings == decontaminate(TESTS[::-1]).settings != decontaminate(TESTS[:2]).settings


def test_arguments_out_of_range():
    with pytest.raises(InputError, match="no test tasks"):
        decontaminate([])
    with pytest.raises(InputError, match="1 word or more"):
        decontaminate(TESTS, words=0)
