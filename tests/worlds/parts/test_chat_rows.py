import pytest

from handaxe.core.records import Message, ToolCall
from handaxe.worlds.parts.chat_rows import chat_messages

USER = {"role": "user", "content": "2*3?"}
CALL = {"id": "a", "type": "function", "function": {"name": "mul", "arguments": '{"x": 2, "y": 3}'}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
REPLY = {"role": "tool", "content": "6", "tool_call_id": "a"}


def test_server_form_and_short_form_are_equal():
    short = [USER, {"role": "assistant", "content": "", "calls": [{"name": "mul", "arguments": {"x": 2, "y": 3}}]}]
    wanted = (
        Message("user", "2*3?"),
        Message("assistant", "", (ToolCall("mul", {"x": 2, "y": 3}, "history-0"),)),
        Message("tool", "6", call_id="history-0", name="mul"),
    )
    assert chat_messages([USER, ASKS, REPLY]) == wanted
    assert chat_messages([*short, {"role": "tool", "content": "6"}]) == wanted


def test_replies_in_another_order_keep_their_calls():
    other = {**CALL, "id": "b", "function": {"name": "add", "arguments": {"x": 1}}}
    late = [{"role": "tool", "content": "1", "tool_call_id": "b"}, REPLY]
    made = chat_messages([USER, {**ASKS, "tool_calls": [CALL, other]}, *late])
    assert [(one.call_id, one.name) for one in made[2:]] == [("history-1", "add"), ("history-0", "mul")]


def test_ids_of_a_long_history_are_unique():
    made = chat_messages([USER, ASKS, REPLY, ASKS, REPLY])
    assert [call.id for one in made for call in one.calls] == ["history-0", "history-1"]


def test_none_arguments_of_a_table_are_left_out():
    call = {"name": "mul", "arguments": {"x": 2, "other": None}}
    made = chat_messages(
        [USER, {"role": "assistant", "content": "", "calls": [call]}, {"role": "tool", "content": "6"}]
    )
    assert made[1].calls[0].arguments == {"x": 2}


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], r"messages is \[\]; give"),
        ("text", "messages is 'text'; give"),
        ([{"role": "bot", "content": "x"}], "message 1 is .*; give a role"),
        ([USER, {"role": "system", "content": "x"}], "message 2 is a system message; only the first"),
        ([{"role": "user", "content": " "}], "message 1 of the user is empty"),
        ([{"role": "user", "content": [{"type": "image"}]}], "message 1: the content is .*; give text"),
        ([{**USER, "calls": [CALL]}], "message 1: the calls are .* of the user"),
        ([USER, {"role": "assistant", "content": "", "calls": ["f"]}], "message 2: a call is 'f'"),
        ([USER, {"role": "assistant", "content": "", "calls": [{"name": "f", "arguments": "{"}]}], "of f are not JSON"),
        ([USER, {"role": "assistant", "content": "", "calls": [{"name": "f", "arguments": [1]}]}], r"f are \[1\]"),
        ([USER, {**ASKS, "tool_calls": [CALL, CALL]}], "message 2 has two calls with one id"),
        ([USER, REPLY], "message 2 answers call 'a', and no open call"),
        ([USER, ASKS, {**REPLY, "tool_call_id": "b"}], "message 3 answers call 'b', and no open call"),
        ([USER, ASKS, USER], "message 3 is of the user, and 1 calls before have no tool message"),
        ([USER, ASKS], "the last message is of the assistant with open calls; end with the user or a tool"),
        ([USER, {"role": "assistant", "content": "6"}], "the last message is of the assistant; end with"),
    ],
)
def test_another_form_raises_with_the_number_of_the_message(rows, message):
    with pytest.raises(ValueError, match=message):
        chat_messages(rows)
