import pytest

from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.parts.experts import arithmetic_call, calls_then_answer

TASK = Task("t", (Message("user", "?"),), "luta")


def facts(turn):
    return {"turn": turn, "replies": [], "statuses": [], "tools": ["search"], "sure": True}


def test_calls_come_in_order_before_the_answer():
    calls = (ToolCall("search", {"query": "a"}), ToolCall("search", {"query": "b"}))
    expert = calls_then_answer(lambda task, facts: calls)
    assert [expert(TASK, facts(turn)).calls for turn in range(3)] == [calls[:1], calls[1:], ()]
    assert [expert(TASK, facts(turn)).content for turn in range(3)] == ["", "", "luta"]


@pytest.mark.parametrize(
    "expression, offered, call",
    [
        ("12*34", ["calculator"], ToolCall("calculator", {"expression": "12*34"})),
        ("12*34", ["compute"], ToolCall("compute", {"left": 12, "operator": "*", "right": 34})),
        ("29 + 72 + 99", ["compute", "python"], ToolCall("python", {"code": "29 + 72 + 99"})),
        ("gcd(12,18)", ["python", "calculator"], ToolCall("python", {"code": "import math;math.gcd(12,18)"})),
    ],
)
def test_arithmetic_call_uses_the_first_suitable_tool(expression, offered, call):
    assert arithmetic_call(expression, offered) == (call,)


@pytest.mark.parametrize("offered", [[], ["search"], ["compute"]])
def test_arithmetic_call_is_empty_without_a_suitable_tool(offered):
    assert arithmetic_call("29 + 72 + 99", offered) == ()
