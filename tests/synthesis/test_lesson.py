"""Play of lessons: replies, contradictions, failed calls, and the context."""

import pytest

from handaxe.core.errors import InfrastructureError, Retry
from handaxe.core.records import Message, Task
from handaxe.core.validation import check
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.synthesis.computations import computations
from handaxe.synthesis.lesson import CALCULATOR, LessonTurn, lesson_draft, lesson_turns, lesson_turns_of, play_lesson
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.tools.decorator import tool

QUESTION = Task("", (Message("user", "?"),), "the answer")


@tool
def calculator(expression: str) -> str:
    """Add two numbers, or say something else."""
    if expression == "13+1":
        raise Retry("not thirteen")
    if expression == "14+1":
        return "many"
    if expression == "15+1":
        raise InfrastructureError("gone")
    a, b = expression.split("+")
    return str(float(a) + float(b))


def lesson(*turns):
    return draft_task(lesson_draft(task_draft(QUESTION), turns))


def play(*turns, **options):
    return play_lesson(tool_chat([calculator]), lesson(*turns), CALCULATOR, format=Compact(), **options)


def said(one):
    check(one)
    return [(text.content, *(call.arguments["expression"] for call in text.calls)) for text in one.messages]


def test_by_hand():
    text = "He has 70+12 = 82 kernels, and 1+2=3 more.\nSo 82 + 30=$112.0 in all. #### 112"
    assert said(play(*lesson_turns(computations(text)))) == [
        ("?",),
        ("He has", "70+12"),
        ("82.0",),
        ("82 kernels, and 1+2=3 more.\nSo", "82+30"),
        ("112.0",),
        ("the answer",),
    ]


def test_a_call_that_has_to_fail_is_shown_with_its_error():
    shown = said(play(LessonTurn("so", "13+1", fails=True), LessonTurn("", "12+1", "13")))
    assert [one[1:] for one in shown if len(one) > 1] == [("13+1",), ("12+1",)]
    assert "not thirteen" in shown[2][0] and shown[4] == ("13.0",)


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (LessonTurn("", "70+12", "83"), "a reply contradicts the text"),
        (LessonTurn("", "13+1", "14"), "a call failed"),
        (LessonTurn("", "14+1", "15"), "a reply is no number"),
        (LessonTurn("", "70+12", "", fails=True), "a call that has to fail runs"),
    ],
)
def test_unusable_lessons_have_a_reason(turn, why):
    assert play(turn) == why and not isinstance(play(LessonTurn("", "70+12", "82")), str)


def test_a_lesson_beyond_the_context_is_left_out():
    turn = LessonTurn("very " * 30, "70+12", "82")
    assert play(turn, context=60) == "does not fit into the context"


def test_a_dead_tool_is_no_reason():
    with pytest.raises(InfrastructureError, match="calculator died in a lesson"):
        play(LessonTurn("", "15+1", "16"))


def test_turns_round_trip_through_json_of_a_draft():
    turns = [LessonTurn("a", "1+2", "3"), LessonTurn("", "b", "", True)]
    first = task_draft(QUESTION).noted({"rate": 0.5})
    made = lesson_draft(first, turns)
    assert lesson_turns_of(draft_task(made)) == turns and made.notes == {"rate": 0.5} and made.parents == (first.id,)
    assert lesson_turns_of(QUESTION) == []
