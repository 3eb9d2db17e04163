import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.rewards.parts.extract import (
    answer_blocks,
    answer_line,
    boxed,
    call_argument,
    final_text,
    last_number,
    tag_content,
    written_text,
)
from handaxe.testing.make_records import make_trajectory


def with_texts(*texts, **more):
    return make_trajectory(texts=list(texts), **more)


SILENT = make_trajectory(layouts=["UUt"])


def test_extract_matches_the_docstring_example():
    trajectory = with_texts("so 3 apples\nAnswer: 7 pears")
    assert final_text(trajectory) == "so 3 apples\nAnswer: 7 pears"
    assert answer_line(trajectory) == "7 pears"
    assert last_number(trajectory) == "7"


@pytest.mark.parametrize("extract", [final_text, answer_line, last_number, boxed, tag_content("answer"), written_text])
def test_extractors_return_the_empty_text_without_a_turn(extract):
    assert extract(SILENT) == ""


@pytest.mark.parametrize(
    "text, line",
    [("ANSWER:42", "42"), ("answer: 1\nanswer: 2\nmore", "2"), ("no answer here", ""), ("answer:\n5", "")],
)
def test_answer_line_takes_the_last_line(text, line):
    assert answer_line(with_texts(text)) == line


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
def test_last_number_reads_numbers_only(text, number):
    assert last_number(with_texts(text)) == number


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
def test_boxed_balances_braces(text, inside):
    assert boxed(with_texts(text)) == inside


def test_tag_content_takes_the_last_closed_tag_of_all_turns():
    trajectory = with_texts("<answer>1</answer>", "<answer> 2 </answer> <answer>3")
    assert tag_content("answer")(trajectory) == "2"
    assert tag_content("a.swer")(trajectory) == ""
    assert tag_content("think")(with_texts("<think>a <think>b</think>")) == "b"


def test_final_text_is_of_the_last_turn():
    assert final_text(with_texts("first", " last ")) == "last"


def test_written_text_shows_calls_in_one_notation():
    trajectory = with_texts(
        "<think>x</think>", "done", calls=[[ToolCall("f", {"x": 1}), ToolCall("g", {})], []], replies=[["1", "2"], []]
    )
    assert written_text(trajectory) == (
        '<think>x</think>\n<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n'
        '{"name": "g", "arguments": {}}\n</tool_call>\ndone'
    )
    assert written_text(with_texts("a", errors=[["not JSON"]])) == "a\n<tool_call>"


def test_answer_blocks_wrap_text_in_answer_tags():
    called = with_texts("", " 408 ", calls=[[ToolCall("f", {"x": 1})], []], replies=[["1"], []])
    assert answer_blocks(called) == (
        '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>\n<answer>408</answer>'
    )
    assert answer_blocks(with_texts("a", "")) == "<answer>a</answer>\n" and answer_blocks(SILENT) == ""


def test_call_argument_takes_the_last_executed_call():
    calls = [
        [ToolCall("answer", {"text": " 7 "}, "a")],
        [ToolCall("answer", {"text": "8"}, "b"), ToolCall("f", {}, "c")],
    ]
    replies = [[ToolReply("a", "answer", "ok")], [ToolReply("b", "answer", "no", "retry"), ToolReply("c", "f", "ok")]]
    one = with_texts("", "9", calls=calls, replies=replies)
    assert call_argument("answer", "text")(one) == "7"
    assert (
        call_argument("answer", "words")(one)
        == call_argument("f", "text")(one)
        == call_argument("g", "text")(one)
        == ""
    )
    listed = with_texts(
        "", calls=[[ToolCall("answer", {"text": [1, 2]}, "a")]], replies=[[ToolReply("a", "answer", "ok")]]
    )
    assert call_argument("answer", "text")(listed) == "[1, 2]" and call_argument("answer", "text")(SILENT) == ""
    unanswered = with_texts("", calls=[[ToolCall("answer", {"text": "7"}, "a")]], replies=[[]])
    assert call_argument("answer", "text")(unanswered) == ""
