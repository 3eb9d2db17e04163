"""Simulated times by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import ToolCall
from handaxe.evaluation.benchmarks import scheduling
from handaxe.evaluation.benchmarks.scheduling import (
    SEARCH_SECONDS,
    CallSchedule,
    call_seconds,
    called_tool,
    elapsed_seconds,
    function_seconds,
    parallel_plan,
    sequential_plan,
    sequential_seconds,
)


@pytest.mark.parametrize(
    ("turns", "elapsed"), [([[3], [2], [1]], 6), ([[3, 2], [1]], 4), ([[3, 2, 1]], 3), ([[], [2], []], 2), ([], 0)]
)
def test_calls_of_a_turn_run_at_the_same_time(turns, elapsed):
    """The example of the docstring: a = 3, b = 2, c = 1."""
    assert elapsed_seconds(turns) == elapsed
    assert sequential_seconds(turns) == sum(one for calls in turns for one in calls)


TURNS = st.lists(st.lists(st.floats(0, 100), max_size=5), max_size=6)


@given(TURNS)
def test_time_by_a_slow_loop_and_never_above_the_sequential_time(turns):
    slow = 0.0
    for calls in turns:
        longest = 0.0
        for one in calls:
            longest = one if one > longest else longest
        slow += longest
    assert elapsed_seconds(turns) == pytest.approx(slow, abs=1e-6)
    assert elapsed_seconds(turns) <= sequential_seconds(turns) + 1e-6
    alone = [[one] for calls in turns for one in calls]
    assert elapsed_seconds(alone) == pytest.approx(sequential_seconds(turns), abs=1e-6)


def test_seconds_of_calls():
    functions = {"math_gcd": "math.gcd"}
    known = ToolCall("call_tool", {"name": "math_gcd", "arguments": {}})
    assert call_seconds(known, functions) == function_seconds("math.gcd")
    others = [
        ToolCall("find_tools", {"query": "math_gcd", "name": "math_gcd"}),
        ToolCall("call_tool", {"name": "nothing"}),
        ToolCall("call_tool", {"name": ["math_gcd"]}),
        ToolCall("call_tool", {}),
    ]
    assert [call_seconds(one, functions) for one in others] == [SEARCH_SECONDS] * 4
    assert [called_tool(one) for one in (known, *others)] == ["math_gcd", "", "nothing", "", ""]
    assert {function_seconds(f"f{n}") for n in range(200)} == {1, 2, 3, 4, 5}


def test_plans_by_hand(monkeypatch):
    """Chains of 2 and 1 steps with 3, 2 and 1 seconds, and a second for each search."""
    monkeypatch.setattr(scheduling, "function_seconds", {"a": 3, "b": 2, "c": 1}.get)
    steps = [{"function": "a"}, {"function": "b"}, {"function": "c"}]
    assert sequential_plan(steps) == CallSchedule(turns=6, elapsed=9.0, sequential=9.0)
    assert parallel_plan(steps, [2, 1]) == CallSchedule(turns=3, elapsed=6.0, sequential=9.0)
    assert parallel_plan(steps, [1, 1, 1]) == CallSchedule(turns=2, elapsed=4.0, sequential=9.0)
    assert parallel_plan(steps, [3]) == CallSchedule(turns=4, elapsed=7.0, sequential=9.0)
