import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.rewards.parts.extract import (
    answer_line,
    argument,
    boxed,
    final_text,
    in_blocks,
    last_number,
    tagged,
    written_text,
)
from handaxe.testing.records import make_trajectory


def said(*texts, **more):
    return make_trajectory(texts=list(texts), **more)


SILENT = make_trajectory(layouts=["UUt"])


def test_module_example():
    trajectory = said("so 3 apples\nAnswer: 7 pears")
    assert final_text(trajectory) == "so 3 apples\nAnswer: 7 pears"
    assert answer_line(trajectory) == "7 pears"
    assert last_number(trajectory) == "7"


@pytest.mark.parametrize("extract", [final_text, answer_line, last_number, boxed, tagged("answer"), written_text])
def test_nothing_said_is_the_empty_text(extract):
    assert extract(SILENT) == ""


@pytest.mark.parametrize(
    "text, line",
    [("ANSWER:42", "42"), ("answer: 1\nanswer: 2\nmore", "2"), ("no answer here", ""), ("answer:\n5", "")],
)
def test_answer_line(text, line):
    assert answer_line(said(text)) == line


@pytest.mark.parametrize(
    "text, number",
    [
        ("1,024 apples", "1024"),
        ("costs $5.", "5"),
        ("x2 only", ""),
        ("3-4", "4"),
        ("is -4", "-4"),
        ("3.5e2!", "3.5e2"),
        ("=.5", ".5"),
        ("12*34=408", "408"),
        ("version 1.2.3", "1.2"),
        ("none", ""),
    ],
)
def test_last_number(text, number):
    assert last_number(said(text)) == number


@pytest.mark.parametrize(
    "text, inside",
    [
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{1} then \boxed{2", "1"),
        ("nothing", ""),
        (r"\boxed{}", ""),
    ],
)
def test_boxed(text, inside):
    assert boxed(said(text)) == inside


def test_tagged_takes_the_last_closed_one_of_all_turns():
    trajectory = said("<answer>1</answer>", "<answer> 2 </answer> <answer>3")
    assert tagged("answer")(trajectory) == "2"
    assert tagged("a.swer")(trajectory) == ""
    assert tagged("think")(said("<think>a <think>b</think>")) == "b"


def test_final_text_is_of_the_last_turn():
    assert final_text(said("first", " last ")) == "last"


def test_written_text_shows_calls_in_one_notation():
    trajectory = said(
        "<think>x</think>", "done", calls=[[ToolCall("f", {"x": 1}), ToolCall("g", {})], []], replies=[["1", "2"], []]
    )
    assert written_text(trajectory) == (
        '<think>x</think>\n<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n'
        '{"name": "g", "arguments": {}}\n</tool_call>\ndone'
    )
    assert written_text(said("a", errors=[["not JSON"]])) == "a\n<tool_call>"


def test_in_blocks_puts_what_is_said_into_an_answer():
    called = said("", " 408 ", calls=[[ToolCall("f", {"x": 1})], []], replies=[["1"], []])
    assert in_blocks(called) == (
        '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>\n<answer>408</answer>'
    )
    assert in_blocks(said("a", "")) == "<answer>a</answer>\n" and in_blocks(SILENT) == ""


def test_argument_is_of_the_last_call_that_was_carried_out():
    calls = [
        [ToolCall("answer", {"text": " 7 "}, "a")],
        [ToolCall("answer", {"text": "8"}, "b"), ToolCall("f", {}, "c")],
    ]
    replies = [[ToolReply("a", "answer", "ok")], [ToolReply("b", "answer", "no", "retry"), ToolReply("c", "f", "ok")]]
    one = said("", "9", calls=calls, replies=replies)
    assert argument("answer", "text")(one) == "7"
    assert argument("answer", "words")(one) == argument("f", "text")(one) == argument("g", "text")(one) == ""
    listed = said("", calls=[[ToolCall("answer", {"text": [1, 2]}, "a")]], replies=[[ToolReply("a", "answer", "ok")]])
    assert argument("answer", "text")(listed) == "[1, 2]" and argument("answer", "text")(SILENT) == ""
    unanswered = said("", calls=[[ToolCall("answer", {"text": "7"}, "a")]], replies=[[]])
    assert argument("answer", "text")(unanswered) == ""
