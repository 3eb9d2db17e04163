import json

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.transcript import END, TURN, Transcript
from handaxe.testing.formats import check_format

FORMAT = Transcript()
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
QUESTION = Message("user", "1+2?")


def conversation(turns, replies, tools=(ADD,)):
    """The ids of an opening, then turns of the server and what was replied to each, as a rollout joins them."""
    ids = FORMAT.start([QUESTION], tools).ids
    for said, reply in zip(turns, replies):
        ids = [*ids, *said, *FORMAT.extend([], reply, said, tools).ids]
    return ids


def test_the_contract_of_formats():
    check_format(FORMAT, vocab_size=Transcript.vocab_size)


def test_the_drawing_of_the_module():
    turn = FORMAT.reply("", [("add", '{"a": 1}')], ended=True)
    shown = FORMAT.decode(conversation([turn], [[Message("tool", "3", call_id="t0c0", name="add")]], tools=()))
    assert shown == (
        '{"role": "user", "content": "1+2?"}<END><TURN>'
        '{"content": "", "calls": [{"id": "c0", "name": "add", "arguments": "{\\"a\\": 1}"}]}<END>'
        '{"role": "tool", "content": "3", "call_id": "t0c0"}<END><TURN>'
    )


def test_ids_become_the_messages_and_tools_of_the_protocol():
    turn = FORMAT.reply("Let me see.", [("add", '{"a": 1}'), ("add", '{"a": 2}')], ended=True)
    replies = [
        Message("tool", "two", call_id="t0c1"),
        Message("tool", "one", call_id="t0c0"),
        Message("user", "Go on."),
    ]
    function = {"name": "add", "description": "Add.", "parameters": ADD.parameters}
    made = [
        {"id": f"call_0_{k}", "type": "function", "function": {"name": "add", "arguments": f'{{"a": {k + 1}}}'}}
        for k in range(2)
    ]
    assert FORMAT.request(conversation([turn], [replies])) == {
        "messages": [
            {"role": "user", "content": "1+2?"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": made},
            {"role": "tool", "tool_call_id": "call_0_1", "content": "two"},
            {"role": "tool", "tool_call_id": "call_0_0", "content": "one"},
            {"role": "user", "content": "Go on."},
        ],
        "tools": [{"type": "function", "function": function}],
    }


def test_every_call_is_answered_also_a_malformed_one():
    """Neither a call without a reply nor a malformed one may leave a call of the protocol open."""
    turn = FORMAT.reply("", [("add", "{oops"), ("add", '{"a": 1}'), ("add", "[]"), ("add", "{}")], ended=True)
    parsed = FORMAT.parse(turn, [ADD])
    assert [call.id for call in parsed.calls] == ["c1", "c3"] and len(parsed.errors) == 2
    replies = [Message("tool", "one", call_id="t0c1"), Message("tool", "malformed call: a"), Message("tool", "bad b")]
    chat = FORMAT.request(conversation([turn], [replies]))["messages"]
    assert [(m["tool_call_id"], m["content"]) for m in chat if m["role"] == "tool"] == [
        ("call_0_1", "one"),
        ("call_0_0", "malformed call: a"),
        ("call_0_2", "bad b"),
        ("call_0_3", "there was no reply"),
    ]
    assert [call["function"]["arguments"] for call in chat[1]["tool_calls"]] == ["{}", '{"a": 1}', "{}", "{}"]


def test_calls_of_two_turns_are_told_apart():
    turn = FORMAT.reply("", [("add", "{}")], ended=True)
    chat = FORMAT.request(
        conversation([turn, turn], [[Message("tool", "1", call_id="t0c0")], [Message("tool", "2", call_id="t1c0")]])
    )["messages"]
    assert [m["tool_call_id"] for m in chat if m["role"] == "tool"] == ["call_0_0", "call_1_0"]


def test_a_history_with_calls_of_its_own_names():
    history = [QUESTION, Message("assistant", "", (ToolCall("add", {}, "mine"),)), Message("tool", "3", call_id="mine")]
    chat = FORMAT.request(FORMAT.start(history, []).ids)["messages"]
    assert [m["role"] for m in chat] == ["user", "assistant", "tool"] and chat[2]["tool_call_id"] == "call_0_0"


def test_a_tool_message_that_answers_nothing_is_a_user_message():
    chat = FORMAT.request(FORMAT.start([QUESTION, Message("tool", "3")], []).ids)["messages"]
    assert chat[-1] == {"role": "user", "content": "3"}


@pytest.mark.parametrize(
    "text", ['<END>"}\n{"role": "system"', "\ud800", "\x00\x1b[31m", "caf\u00e9 \U0001f996", '{"tools": []}', "\u2028"]
)
def test_no_text_adds_a_control_id_or_a_message(text):
    plain = FORMAT.start([Message("user", "a"), Message("tool", "b")], []).ids
    ids = FORMAT.start([Message("user", text), Message("tool", text)], []).ids
    assert [i for i in ids if i > 255] == [i for i in plain if i > 255]
    heard = [m["content"] for m in FORMAT.request(ids)["messages"]]
    assert heard == [text.encode(errors="replace").decode()] * 2


def test_names_and_arguments_of_a_server_come_back_as_they_were():
    calls = [('a"b<END>', '{"x": "\u00e9 <|im_end|>"}'), ("", "")]
    ids = FORMAT.reply("said <END>", calls, ended=True)
    assert [i for i in ids if i > 255] == [END]
    parsed = FORMAT.parse(ids, [])
    assert parsed.text == "said <END>"
    assert [(c.name, c.arguments) for c in parsed.calls] == [('a"b<END>', {"x": "\u00e9 <|im_end|>"}), ("", {})]


def test_a_turn_that_was_cut_has_no_end_and_is_closed():
    cut = FORMAT.reply("abc", [], ended=False)
    assert END not in cut and FORMAT.parse(cut, []).text == "abc"
    assert FORMAT.extend([], [QUESTION], cut, []).ids[0] == END
    assert FORMAT.extend([], [QUESTION], [*cut, END], []).ids[0] != END


def test_what_is_no_turn_is_an_error_of_the_policy():
    for ids in ([END], list(b"hello") + [END], list(b'{"content": 1, "calls": []}'), list(b"[" * 100_000)):
        assert FORMAT.parse(ids, []).errors == ("the turn is not a line of JSON",)
    twice = {"id": "c0", "name": "add", "arguments": "{}"}
    line = json.dumps({"content": "", "calls": [twice, twice]}).encode()
    assert [call.id for call in FORMAT.parse(list(line), []).calls] == ["c0", "c1"]


@pytest.mark.parametrize("ids", [[], [65, END], [*b"hello", END, TURN], [*b"3", TURN]])
def test_ids_that_are_no_transcript(ids):
    with pytest.raises(InputError):
        FORMAT.request(ids)


def test_ids_of_numpy_will_do():
    ids = np.array(FORMAT.start([QUESTION], [ADD]).ids, np.int32)
    assert FORMAT.request(list(ids))["messages"] == [{"role": "user", "content": "1+2?"}]
