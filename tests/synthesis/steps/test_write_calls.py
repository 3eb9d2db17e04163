"""Solutions of a world with calls in place of computations."""

import json
from dataclasses import replace

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.synthesis.call_writer import CallWriter
from handaxe.synthesis.lesson import LessonTurn, lesson_turns_of
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.write_calls import write_calls
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
TASKS = WORLD.tasks("train", 12, 0)


def run(writer, tasks=TASKS):
    return write_calls(WORLD, writer).run([task_draft(one) for one in tasks], SynthesisContext(0))


def test_hard_sums_become_calls_and_easy_ones_are_dropped():
    outcomes = run(CallWriter())
    for task, outcome in zip(TASKS, outcomes, strict=True):
        if task.metadata["difficulty"] == "easy":
            assert outcome.reason == "nothing worth a call" and not outcome.kept
        else:
            (draft,) = outcome.kept
            turn = LessonTurn("", task.metadata["expression"], str(task.answer))
            assert lesson_turns_of(draft_task(draft)) == [turn] and draft_task(draft).answer == task.answer
    assert {one.reason for one in outcomes} == {"", "nothing worth a call"}


def test_a_model_rewrites_and_its_failures_are_reasons():
    task = next(one for one in TASKS if one.metadata["difficulty"] == "hard")
    span = f"{task.metadata['expression']}={task.answer}"
    call = {"span": span, "code": "1+1", "value": task.answer}
    good, bad = run(CallWriter(scripted_desk(json.dumps({"calls": [call]}), "no")), [task, TASKS[1]])
    assert lesson_turns_of(draft_task(good.kept[0])) == [LessonTurn("", "1+1", task.answer)] and good.asked
    assert bad.reason == "no answer: unreadable" and bad.asked[0]["failure"] == "unreadable"


def test_a_world_without_solutions_is_refused():
    with pytest.raises(InputError, match="solution"):
        write_calls(replace(WORLD, solution=None), CallWriter())
