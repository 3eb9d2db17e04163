import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER
from handaxe.core.records import Message, ToolCall
from handaxe.worlds.parts.chat_rows import chat_messages, part_images

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
        ([{"role": "user", "content": 5}], "message 1: the content is 5; give text"),
        ([{"role": "user", "content": [{"type": "image"}]}], "message 1 shows an image; images are read by"),
        ([{"role": "user", "content": ["x"]}], "message 1: a part is 'x'; give parts of type text or image"),
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


def image_part(source):
    return {"role": "user", "content": [{"type": "text", "text": "In "}, source, {"type": "text", "text": "?"}]}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "image": "a"},
        {"type": "image", "path": "a"},
        {"type": "image_url", "image_url": {"url": "a"}},
        {"type": "image_url", "image_url": "a"},
    ],
)
def test_a_part_with_a_source_is_read(part):
    image = noise()
    rows = [image_part(part)]
    assert part_images(rows) == ["a"]
    assert chat_messages(rows, {"a": image}.__getitem__) == (Message.of("user", "In ", image, "?"),)


def test_parts_without_a_source_take_the_images_of_the_row_in_order():
    first, second = noise(0), noise(1)
    rows = [image_part({"type": "image"}), ASKS, {**REPLY, "content": [{"type": "image"}]}]
    made = chat_messages(rows, noise, [first, second])
    assert made[0].images == (first,) and made[2].images == (second,) and made[2].content == PLACEHOLDER
    assert part_images(rows) == []
    with pytest.raises(ValueError, match="message 3 shows more images than the row has"):
        chat_messages(rows, noise, [first])
    with pytest.raises(ValueError, match="1 images more than parts of type image"):
        chat_messages(rows, noise, [first, second, first])


def test_images_of_a_row_are_placed_at_marks_or_before_the_first_text_of_the_user():
    first, second = noise(0), noise(1)
    marked = [{"role": "user", "content": "<image> and"}, ASKS, {**REPLY, "content": "<image>!"}]
    made = chat_messages(marked, noise, [first, second])
    assert made[0] == Message.of("user", first, " and") and made[2].images == (second,)
    system = {"role": "system", "content": "Be brief."}
    assert chat_messages([system, USER], noise, [first])[1] == Message.of("user", first, USER["content"])


def test_a_fault_of_an_image_has_the_number_of_the_message():
    def read(source):
        raise InputError(f"there is no image {source!r}")

    with pytest.raises(ValueError, match="message 1: there is no image 'a'"):
        chat_messages([image_part({"type": "image", "image": "a"})], read)
    with pytest.raises(ValueError, match="message 1 of the system shows an image; only users and tools"):
        chat_messages([{"role": "system", "content": [{"type": "image"}]}, USER], noise, [noise()])
