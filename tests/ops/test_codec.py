import math

import numpy as np
import pytest
from helpers.image_records import noise
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import Branch, Message, ParsedTurn, Sampling, Task, ToolCall, ToolReply, ToolSchema
from handaxe.ops import codec

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(sorted(codec.TAGS)), inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_json_like_values_round_trip(value):
    text = codec.dump_json(value)
    assert text.isascii() and codec.load_json(text) == value


def test_values_outside_json_are_tagged_or_stored_as_repr():
    assert codec.load_json(codec.dump_json({"a": (1, [2, (3,)]), 4: b"x"})) == {"a": (1, [2, (3,)]), 4: b"x"}
    assert codec.load_json(codec.dump_json({"__tuple__": 1})) == {"__tuple__": 1}
    assert codec.load_json(codec.dump_json("\ud800 \x1b[31m")) == "\ud800 \x1b[31m"
    assert math.isnan(codec.load_json(codec.dump_json(math.nan)))
    assert codec.load_json(codec.dump_json(np.float32(0.5))) == 0.5
    array = codec.load_json(codec.dump_json(np.array([[1, 2]], np.int16)))
    assert array.dtype == np.int16 and array.tolist() == [[1, 2]]
    assert codec.load_json(codec.dump_json({"f": range(3)})) == {"f": "range(0, 3)"}  # read, not restored


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64, bool])
def test_pack_keeps_dtype_and_values(dtype):
    array = np.array([0, 1, 1, 0], dtype)
    back = codec.unpack(codec.pack(array[::2]))
    assert back.dtype == array.dtype and back.tolist() == array[::2].tolist() and back.flags.writeable
    assert codec.unpack(codec.pack(np.zeros(0, dtype))).shape == (0,)


CALL = ToolCall("f", {"x": (1, None), "y": {"z": "\ud800"}}, "t0c0")
MESSAGES = (Message("user", "hi"), Message("assistant", "", (CALL,)), Message("tool", "\x00", (), "t0c0", "f"))
SCHEMAS = (ToolSchema("f", "does", {"type": "object", "properties": {"x": {"enum": [1, None]}}}),)


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (tuple[Message, ...], MESSAGES),
        (tuple[Message, ...], ()),
        (Task, Task("id", MESSAGES, answer={"n": (1, 2)}, tools=None, metadata={"k": [1], 3: b"x"})),
        (Task, Task("id", (), answer=("a", 1.5), tools=())),
        (Task, Task("id", (), tools=("a", "b"))),
        (tuple[ToolSchema, ...], SCHEMAS),
        (ParsedTurn, ParsedTurn("text", (CALL,), ("open",), "raw")),
        (tuple[ToolReply, ...], (ToolReply("t0c0", "f", "out \ud800", "retry", 0.1, 0.2),)),
        (Sampling, Sampling(0.7, 0.9, 5, 3)),
        (Branch, Branch("a/1", 0, 7)),
    ],
)
def test_records_round_trip(kind, record):
    text = codec.dump_record(record)
    assert text.isascii() and codec.load_record(kind, text) == record
    assert isinstance(codec.load_record(kind, text), tuple) == isinstance(record, tuple)


def test_missing_fields_get_their_defaults():
    assert codec.load_record(Message, '{"role": "user", "content": "hi"}') == Message("user", "hi")


def test_numpy_and_non_finite_numbers_are_encoded():
    (reply,) = codec.load_record(
        tuple[ToolReply, ...], codec.dump_record((ToolReply("", "f", "x", seconds=np.float32(0.5)),))
    )
    assert reply.seconds == 0.5


def test_text_of_format_1_is_unchanged():
    assert codec.dump_record(MESSAGES[1:2]) == (
        '[{"role": "assistant", "content": "", "calls": [{"name": "f", "arguments": {"x": {"__tuple__": [1, null]}, '
        '"y": {"z": "\\ud800"}}, "id": "t0c0"}], "call_id": "", "name": ""}]'
    )
    assert codec.dump_record(Branch("a/1", 0, 7)) == '["a/1", 0, 7]'


def test_images_are_written_into_the_text_without_a_collector():
    image = noise()
    message = Message.of("user", "a ", image, call_id="x")
    assert codec.load_record(Message, codec.dump_record(message)) == message
    free = {"a": [image, (image,)], "__image__": ["b", 1, 2]}
    found = codec.load_json(codec.dump_json(free))
    assert found == free
    np.testing.assert_array_equal(found["a"][0].pixels, image.pixels)


def test_a_collector_takes_each_image_once_and_a_finder_returns_it():
    image, images = noise(), {}
    message = Message.of("tool", image, " and ", image)
    text = codec.dump_record(message, images)
    assert list(images.values()) == [image] and str(image.digest) in text and len(text) < 400
    assert codec.load_record(Message, text, codec.image_finder(images.values())).images[1] is image
    assert codec.load_json(codec.dump_json({1: image}, images), codec.image_finder([image])) == {1: image}
    with pytest.raises(ValueError, match="is not in the text"):
        codec.load_record(Message, text)
    with pytest.raises(LookupError):
        codec.load_record(Message, text, codec.image_finder([]))
