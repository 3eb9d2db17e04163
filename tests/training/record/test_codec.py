import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.records import Branch, Message, ParsedTurn, Sampling, Task, ToolCall, ToolReply, ToolSchema
from handaxe.training import codec

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
def test_any_json_like_value_comes_back(value):
    text = codec.dump_json(value)
    assert text.isascii() and codec.load_json(text) == value


def test_what_json_lacks():
    assert codec.load_json(codec.dump_json({"a": (1, [2, (3,)]), 4: b"x"})) == {"a": (1, [2, (3,)]), 4: b"x"}
    assert codec.load_json(codec.dump_json({"__tuple__": 1})) == {"__tuple__": 1}
    assert codec.load_json(codec.dump_json("\ud800 \x1b[31m")) == "\ud800 \x1b[31m"
    assert math.isnan(codec.load_json(codec.dump_json(math.nan)))
    assert codec.load_json(codec.dump_json(np.float32(0.5))) == 0.5
    array = codec.load_json(codec.dump_json(np.array([[1, 2]], np.int16)))
    assert array.dtype == np.int16 and array.tolist() == [[1, 2]]
    assert codec.load_json(codec.dump_json({"f": range(3)})) == {"f": "range(0, 3)"}  # read, not restored


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64, bool])
def test_arrays_keep_dtype_and_values(dtype):
    array = np.array([0, 1, 1, 0], dtype)
    back = codec.unpack(codec.pack(array[::2]))
    assert back.dtype == array.dtype and back.tolist() == array[::2].tolist() and back.flags.writeable
    assert codec.unpack(codec.pack(np.zeros(0, dtype))).shape == (0,)


def test_records_come_back():
    call = ToolCall("f", {"x": (1, None), "y": {"z": "\ud800"}}, "t0c0")
    messages = (Message("user", "hi"), Message("assistant", "", (call,)), Message("tool", "\x00", (), "t0c0", "f"))
    assert codec.load_messages(codec.dump_messages(messages)) == messages
    for tools in (None, (), ("a", "b")):
        task = Task("id", messages, answer={"n": (1, 2)}, tools=tools, metadata={"k": [1]})
        assert codec.load_task(codec.dump_task(task)) == task
    schemas = (ToolSchema("f", "does", {"type": "object", "properties": {"x": {"enum": [1, None]}}}),)
    assert codec.load_tools(codec.dump_tools(schemas)) == schemas
    parsed = ParsedTurn("text", (call,), ("open",), "raw")
    assert codec.load_parsed(codec.dump_parsed(parsed)) == parsed
    replies = (ToolReply("t0c0", "f", "out", "retry", 0.1, 0.2),)
    assert codec.load_replies(codec.dump_replies(replies)) == replies
    assert codec.load_sampling(codec.dump_sampling(Sampling(0.7, 0.9, 5, 3))) == Sampling(0.7, 0.9, 5, 3)
    assert codec.load_branch(codec.dump_branch(Branch("a/1", 0, 7))) == Branch("a/1", 0, 7)
    assert codec.load_branch(codec.dump_branch(None)) is None
