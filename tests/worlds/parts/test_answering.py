import pytest

from handaxe.core.records import ParsedTurn, Sampling, ToolCall, ToolReply, Turn
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.parts.answering import (
    answer,
    is_number_answer,
    is_text_answer,
    stated_answer,
    submitted_answer,
)


def rollout(status, text="9"):
    call, reply = ToolCall("answer", {"text": " 7 "}, "a"), ToolReply("a", "answer", "7", status)
    return make_trajectory(texts=["", text], calls=[[call], []], replies=[[reply], []])


def turn(text, calls=()):
    return Turn(0, 0, 1, ParsedTurn(text, calls), "stop", Sampling(), 0)


def test_submitted_answer_has_priority_over_final_text():
    assert answer.schema.name == "answer" and answer("7") == "7"
    assert submitted_answer(rollout("ok")) == stated_answer(rollout("ok")) == "7"
    assert submitted_answer(rollout("invalid")) == "" and stated_answer(rollout("invalid")) == "9"
    assert stated_answer(rollout("invalid", text="")) == ""


@pytest.mark.parametrize("text, found", [("it is 7", True), ("seven", False), ("", False)])
def test_number_answer_contains_a_digit(text, found):
    assert is_number_answer(turn(text)) is found


@pytest.mark.parametrize("text, calls, found", [("luta", 0, True), (" ", 0, False), ("hm", 1, False)])
def test_text_answer_has_text_and_no_call(text, calls, found):
    assert is_text_answer(turn(text, (ToolCall("search", {"query": "x"}),) * calls)) is found
