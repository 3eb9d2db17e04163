import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.ops.nested_values import exceeds_depth, iter_strings

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


def depth(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(depth, items), default=0)


@given(VALUES)
def test_exceeds_depth_equals_recursion(value):
    assert [exceeds_depth(value, levels) for levels in range(12)] == [depth(value) > levels for levels in range(12)]


@given(VALUES)
def test_iter_strings_finds_keys_and_values(value):
    assert sorted(iter_strings(value)) == sorted(_strings(value))


def _strings(value):
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [*value, *(text for inner in value.values() for text in _strings(inner))]
    return [text for inner in value for text in _strings(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize("kind", [lambda value: [value], lambda value: (value,), lambda value: {"a": value}])
def test_values_deeper_than_the_recursion_limit_are_accepted(kind):
    value = "last"
    for _ in range(100_000):
        value = kind(value)
    assert exceeds_depth(value, 99_999) and not exceeds_depth(value, 100_000)
    assert "last" in set(iter_strings(value))


def test_iter_strings_reads_records():
    message = Message("assistant", "text", (ToolCall("name", {"key": [1, ("value",)]}, "c0"),), "id", "who")
    schema = ToolSchema("tool", "what", {"type": "object"})
    expected = {"assistant", "text", "name", "key", "value", "c0", "id", "who", "tool", "what", "type", "object"}
    assert set(iter_strings([message, schema])) == expected
