from handaxe.core.records import ToolCall
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.parts.call_metrics import REPEATED_CALLS, wasted_calls

GOLD = (ToolCall("f", {"x": 1}), ToolCall("g", {"x": 2}))


def shares(calls, errors=None):
    gauge = wasted_calls(lambda task: GOLD)
    one = make_trajectory(calls=calls, errors=errors)
    return gauge.top(one, 1.0), gauge.bottom(one, 1.0)


def test_wasted_calls_matches_its_example():
    first, other = ToolCall("f", {"x": 1}), ToolCall("h", {"x": 3})
    assert shares([[first], [first, other], []], [[], [], ["not JSON"]]) == (3, 4)
    assert shares([[GOLD[1]], [first]]) == (0, 2)
    assert shares([[ToolCall("f", {"x": 2})]]) == (1, 1)
    assert shares([[]]) == (0, 0)


def test_repeated_calls_counts_equal_earlier_calls():
    first, other, again = ToolCall("f", {"x": 1}), ToolCall("g", {"x": 2}), ToolCall("f", {"x": 1.0}, "t1c0")
    for calls, share in ([[first, other], [again]], (1, 3)), ([[first]], (0, 1)), ([[first, first, first]], (2, 3)):
        one = make_trajectory(calls=calls)
        assert (REPEATED_CALLS.top(one, 1.0), REPEATED_CALLS.bottom(one, 1.0)) == share
