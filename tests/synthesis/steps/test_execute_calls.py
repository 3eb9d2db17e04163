"""Executed lessons: contradictions, failures, changing replies."""

import itertools

import pytest

from handaxe.core.errors import InputError
from handaxe.envs.tool_chat import tool_chat
from handaxe.synthesis.lesson import CALCULATOR, LessonTurn, lesson_draft
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.execute_calls import execute_calls
from handaxe.synthesis.task_drafts import task_draft
from handaxe.tools.decorator import tool
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
DRAFT = task_draft(WORLD.tasks("train", 1, 0)[0])
ENV = WORLD.env(WORLD.tools)


def run(*turns, env=ENV, **options):
    step = execute_calls(env, CALCULATOR, **options)
    return step.run([lesson_draft(DRAFT, turns)], SynthesisContext(0))[0]


def test_calls_that_agree_are_kept_and_counted():
    outcome = run(LessonTurn("", "12*", "", True), LessonTurn("", "12*34", "408"))
    assert outcome.kept[0].notes == {"calls": 2, "failed": 1}


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (LessonTurn("", "12*34", "409"), "a reply contradicts the text"),
        (LessonTurn("", "12*", "408"), "a call failed"),
        (LessonTurn("", "12*34", "", True), "a call that has to fail runs"),
    ],
)
def test_other_lessons_are_dropped(turn, reason):
    assert run(turn).reason == reason


def test_a_reply_that_changes_is_dropped():
    numbers = itertools.count()

    @tool
    def calculator(expression: str) -> str:
        """Count."""
        return str(next(numbers))

    assert run(LessonTurn("", "x"), env=tool_chat([calculator])).reason == "replies differ"
    assert run(LessonTurn("", "x"), env=tool_chat([calculator]), tries=1).reason == ""


def test_wrong_input():
    with pytest.raises(InputError, match="tries is 0"):
        execute_calls(ENV, CALCULATOR, tries=0)
