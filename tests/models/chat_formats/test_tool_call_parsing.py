import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.records import ToolCall
from handaxe.models.chat_formats.tool_call_parsing import TaggedCalls, call_from_json

SYNTAX = TaggedCalls()
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
ADD = ToolCall("add", {"a": 1, "b": 2}, "c0")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.sampled_from(["</tool_call>", "<tool_call>", "<think>", "</think>", '"}', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
call_lists = st.lists(st.tuples(st.text(min_size=1, max_size=6), st.dictionaries(st.text(), json_values)), max_size=3)
contents = st.text(max_size=20).filter(lambda text: "<" not in text)


def write_text(content, calls):
    return "".join(piece.text for piece in SYNTAX.write(content, calls))


@pytest.mark.slow
@settings(deadline=None, max_examples=200, derandomize=True)
@given(content=contents, calls=call_lists)
def test_read_inverts_write(content, calls):
    calls = tuple(ToolCall(name, arguments, f"c{k}") for k, (name, arguments) in enumerate(calls))
    parsed = SYNTAX.read(write_text(content, calls))
    assert (parsed.text, parsed.calls, parsed.errors) == (content, calls, ())


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    st.lists(st.sampled_from(["<tool_call>", "</tool_call>", "<think>", "</think>", '{"name"', ":", '"a"', "}", "\n"]))
)
def test_read_of_any_text_keeps_it_raw(pieces):
    text = "".join(pieces)
    assert SYNTAX.read(text).raw == text
    assert SYNTAX.read(f"<think>{text}").raw == f"<think>{text}"


@pytest.mark.parametrize(
    "text, calls, errors, outside",
    [
        ("408", 0, [], "408"),
        ("", 0, [], ""),
        (CALL, 1, [], ""),
        (f"First.\n{CALL}", 1, [], "First."),
        (f"{CALL}\nthe end", 1, [], "\nthe end"),
        (f"{CALL}\n{CALL}", 2, [], ""),
        (f"{CALL}{CALL} and {CALL}", 3, [], " and "),
        ('<tool_call>{"name":"add"}</tool_call>', 1, [], ""),
        ('<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}</tool_call>', 1, [], ""),
        ('x<tool_call>{"name": "add"', 0, ["not closed"], "x"),
        ('<tool_call>{"name": "add", "arguments": {}}', 0, ["not closed"], ""),
        ("<tool_call>", 0, ["not closed"], ""),
        ("a</tool_call>b", 0, ["without <tool_call>"], "ab"),
        ("<tool_call>{'name': 'add'}</tool_call>", 0, ["not JSON: Expecting property name.*at character 1"], ""),
        (f"<tool_call>{{</tool_call>\n{CALL}", 1, ["not JSON"], ""),
        ("<tool_call>{} {}</tool_call>!", 0, ["more than one JSON value"], "!"),
        ('<tool_call>["add"]</tool_call>', 0, ['with "name"'], ""),
        ('<tool_call>{"name": 3}</tool_call>', 0, ['with "name"'], ""),
        ('<tool_call>{"name": "add", "arguments": [1]}</tool_call>', 0, ["arguments of 'add' are not"], ""),
        ('<tool_call>{"name": "add", "arguments": null}</tool_call>', 0, ["arguments of 'add' are not"], ""),
        ('<tool_call>{"name": "add", "arguments": "x"}</tool_call>', 0, ["arguments of 'add' are not"], ""),
        ('<tool_call>{"name": "add", "arguments": {"a": NaN}}</tool_call>', 0, ["NaN is not JSON"], ""),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", 0, ["not JSON"], ""),
        (f"<think>{CALL}</think>408", 0, [], f"<think>{CALL}</think>408"),
        (f"<think>hm</think>{CALL}", 1, [], "<think>hm</think>"),
        (f"<think>{CALL}", 0, [], f"<think>{CALL}"),
    ],
)
def test_read_returns_text_calls_and_errors(text, calls, errors, outside):
    parsed = SYNTAX.read(text)
    assert [call.id for call in parsed.calls] == [f"c{k}" for k in range(calls)]
    assert len(parsed.errors) == len(errors)
    for message, expected in zip(parsed.errors, errors):
        assert re.search(expected, message), message
    assert parsed.text == outside
    assert parsed.raw == text


def test_strings_of_a_call_may_contain_tags():
    call = ToolCall("say", {"text": "</tool_call><tool_call><think>"}, "c0")
    assert SYNTAX.read(write_text("", [call])).calls == (call,)


def test_tags_are_configurable():
    syntax = TaggedCalls(start="[CALL]", end="[/CALL]")
    text = "".join(piece.text for piece in syntax.write("so:", [ADD]))
    assert text == 'so:\n[CALL]\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n[/CALL]'
    assert syntax.read(text).calls == (ADD,)


def test_call_from_json_returns_a_call_or_an_error_message():
    assert call_from_json({"name": "add", "arguments": {"a": 1, "b": 2}}, "c0") == ADD
    assert call_from_json({"name": "now"}, "c7") == ToolCall("now", {}, "c7")
    assert "JSON object" in call_from_json([], "c0")
