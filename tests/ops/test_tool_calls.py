import itertools

from handaxe.core.records import ToolCall
from handaxe.ops.tool_calls import call_key


def test_call_key_ignores_order_and_id_and_keeps_types():
    assert call_key(ToolCall("f", {"a": 1, "b": 2})) == call_key(ToolCall("f", {"b": 2.0, "a": 1}, id="other"))
    assert len({call_key(ToolCall("f", {"a": value})) for value in (1, True, "1")}) == 3


def test_different_calls_have_different_keys():
    calls = [ToolCall("f", {}), ToolCall("g", {}), ToolCall("f", {"a": []}), ToolCall("f", {"a": {}})]
    calls += [ToolCall("f", {"a": value}) for value in (0, None, "", "0", 0.5, float("inf"), [0], [[0]], {"b": 0})]
    for one, other in itertools.combinations(calls, 2):
        assert call_key(one) != call_key(other)


def test_call_key_normalizes_nested_values():
    deep = [{"x": [{"p": 1, "q": 2.0}]}, {"x": ({"q": 2, "p": 1.0},)}]
    assert len({call_key(ToolCall("f", own)) for own in deep}) == 1
    assert call_key(ToolCall("f", {"a": -0.0})) == call_key(ToolCall("f", {"a": 0}))
