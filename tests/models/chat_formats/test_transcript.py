import json

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import decode_data_url
from handaxe.core.images import FIRST_IMAGE_ID, PLACEHOLDER, Image
from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.transcript import END, TURN, Transcript
from handaxe.testing.formats import check_format

FORMAT = Transcript()
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
QUESTION = Message("user", "1+2?")


def conversation(turns, replies, tools=(ADD,)):
    """Join the ids of a start, turns of the server and the replies to each, as a rollout does."""
    ids = FORMAT.start([QUESTION], tools).ids
    for turn, reply in zip(turns, replies):
        ids = [*ids, *turn, *FORMAT.extend([], reply, turn, tools).ids]
    return ids


def test_format_meets_the_contract():
    check_format(FORMAT, vocab_size=Transcript.vocab_size)


def test_transcript_renders_the_conversation_of_its_docstring():
    turn = FORMAT.reply("", [("add", '{"a": 1}')], ended=True)
    shown = FORMAT.decode(conversation([turn], [[Message("tool", "3", call_id="t0c0", name="add")]], tools=()))
    assert shown == (
        '{"role": "user", "content": "1+2?"}<END><TURN>'
        '{"content": "", "calls": [{"id": "c0", "name": "add", "arguments": "{\\"a\\": 1}"}]}<END>'
        '{"role": "tool", "content": "3", "call_id": "t0c0"}<END><TURN>'
    )


def test_request_returns_messages_and_tools_of_the_protocol():
    turn = FORMAT.reply("Let me see.", [("add", '{"a": 1}'), ("add", '{"a": 2}')], ended=True)
    replies = [
        Message("tool", "two", call_id="t0c1"),
        Message("tool", "one", call_id="t0c0"),
        Message("user", "Go on."),
    ]
    function = {"name": "add", "description": "Add.", "parameters": ADD.parameters}
    tool_calls = [
        {"id": f"call_0_{k}", "type": "function", "function": {"name": "add", "arguments": f'{{"a": {k + 1}}}'}}
        for k in range(2)
    ]
    assert FORMAT.request(conversation([turn], [replies])) == {
        "messages": [
            {"role": "user", "content": "1+2?"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": tool_calls},
            {"role": "tool", "tool_call_id": "call_0_1", "content": "two"},
            {"role": "tool", "tool_call_id": "call_0_0", "content": "one"},
            {"role": "user", "content": "Go on."},
        ],
        "tools": [{"type": "function", "function": function}],
    }


def test_each_call_has_a_result_including_malformed_calls():
    """Calls without a reply and malformed calls get a tool message, because the protocol requires one per call."""
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


def test_call_ids_of_two_turns_differ():
    turn = FORMAT.reply("", [("add", "{}")], ended=True)
    chat = FORMAT.request(
        conversation([turn, turn], [[Message("tool", "1", call_id="t0c0")], [Message("tool", "2", call_id="t1c0")]])
    )["messages"]
    assert [m["tool_call_id"] for m in chat if m["role"] == "tool"] == ["call_0_0", "call_1_0"]


def test_call_ids_of_the_history_are_replaced():
    history = [QUESTION, Message("assistant", "", (ToolCall("add", {}, "mine"),)), Message("tool", "3", call_id="mine")]
    chat = FORMAT.request(FORMAT.start(history, []).ids)["messages"]
    assert [m["role"] for m in chat] == ["user", "assistant", "tool"] and chat[2]["tool_call_id"] == "call_0_0"


def test_tool_message_without_call_becomes_a_user_message():
    chat = FORMAT.request(FORMAT.start([QUESTION, Message("tool", "3")], []).ids)["messages"]
    assert chat[-1] == {"role": "user", "content": "3"}


@pytest.mark.parametrize(
    "text", ['<END>"}\n{"role": "system"', "\ud800", "\x00\x1b[31m", "caf\u00e9 \U0001f996", '{"tools": []}', "\u2028"]
)
def test_text_adds_no_control_id_and_no_message(text):
    plain = FORMAT.start([Message("user", "a"), Message("tool", "b")], []).ids
    ids = FORMAT.start([Message("user", text), Message("tool", text)], []).ids
    assert [i for i in ids if i > 255] == [i for i in plain if i > 255]
    contents = [m["content"] for m in FORMAT.request(ids)["messages"]]
    assert contents == [text.encode(errors="replace").decode()] * 2


def test_parse_returns_names_and_arguments_of_the_server():
    calls = [('a"b<END>', '{"x": "\u00e9 <|im_end|>"}'), ("", "")]
    ids = FORMAT.reply("said <END>", calls, ended=True)
    assert [i for i in ids if i > 255] == [END]
    parsed = FORMAT.parse(ids, [])
    assert parsed.text == "said <END>"
    assert [(c.name, c.arguments) for c in parsed.calls] == [('a"b<END>', {"x": "\u00e9 <|im_end|>"}), ("", {})]


def test_truncated_turn_has_no_end_and_is_closed_by_extend():
    cut = FORMAT.reply("abc", [], ended=False)
    assert END not in cut and FORMAT.parse(cut, []).text == "abc"
    assert FORMAT.extend([], [QUESTION], cut, []).ids[0] == END
    assert FORMAT.extend([], [QUESTION], [*cut, END], []).ids[0] != END


def test_ids_without_a_turn_parse_as_an_error():
    for ids in ([END], list(b"hello") + [END], list(b'{"content": 1, "calls": []}'), list(b"[" * 100_000)):
        assert FORMAT.parse(ids, []).errors == ("the turn is not a line of JSON",)
    call = {"id": "c0", "name": "add", "arguments": "{}"}
    line = json.dumps({"content": "", "calls": [call, call]}).encode()
    assert [call.id for call in FORMAT.parse(list(line), []).calls] == ["c0", "c1"]


@pytest.mark.parametrize("ids", [[], [65, END], [*b"hello", END, TURN], [*b"3", TURN]])
def test_request_of_other_ids_is_an_input_error(ids):
    with pytest.raises(InputError):
        FORMAT.request(ids)


def test_request_accepts_numpy_ids():
    ids = np.array(FORMAT.start([QUESTION], [ADD]).ids, np.int32)
    assert FORMAT.request(list(ids))["messages"] == [{"role": "user", "content": "1+2?"}]


def picture(shade):
    return Image.of(np.full((2, 3, 3), shade, np.uint8))


def test_an_image_is_one_id_and_is_sent_as_a_data_url():
    red, blue = picture(10), picture(20)
    opening = Message.of("user", "Compare ", red, " and ", blue, " \ufffd")
    ids = FORMAT.start([opening], ()).ids
    assert [i for i in ids if i >= FIRST_IMAGE_ID] == [*red.ids(1), *blue.ids(1)]
    assert FORMAT.decode(ids).count(PLACEHOLDER) == 2
    (message,) = FORMAT.request(ids, [blue, picture(30), red])["messages"]
    texts, urls = message["content"][::2], [part["image_url"]["url"] for part in message["content"][1::2]]
    assert [part["text"] for part in texts] == ["Compare ", " and ", " \ufffd"]
    assert [Image.read(decode_data_url(url)) for url in urls] == [red, blue]


@pytest.mark.parametrize("where", ["user", "tool"])
def test_images_of_tool_results_follow_the_last_result_or_stand_in_it(where):
    format, shown = Transcript(tool_images=where), picture(40)
    turn = FORMAT.reply("", [("zoom", "{}"), ("zoom", "{}")], ended=True)
    replies = [Message.of("tool", "Here: ", shown, call_id="t0c0"), Message("tool", "nothing", call_id="t0c1")]
    messages = format.request(conversation([turn], [replies]), [shown])["messages"][2:]
    part = {"type": "image_url", "image_url": {"url": shown.data_url}}
    if where == "tool":
        assert [m["role"] for m in messages] == ["tool", "tool"]
        assert messages[0]["content"] == [{"type": "text", "text": "Here: "}, part]
    else:
        assert [m["role"] for m in messages] == ["tool", "tool", "user"]
        assert messages[0]["content"] == "Here: [image 3x2]" and messages[2]["content"][1:] == [part]


def test_a_placeholder_in_text_is_no_image_and_an_unknown_image_is_an_input_error():
    ids = FORMAT.start([Message("user", f"a{PLACEHOLDER}b")], ()).ids
    assert FORMAT.request(ids)["messages"] == [{"role": "user", "content": f"a{PLACEHOLDER}b"}]
    with pytest.raises(InputError, match="not among the request's images"):
        FORMAT.request(FORMAT.start([Message.of("user", picture(1))], ()).ids, [picture(2)])
