import pytest

from handaxe.core.errors import InputError
from handaxe.papers.auto_tool.parameter_edges import ExecutedCall, ParameterGraph, ValueSlot, call_slots, goal_value


def look(order, reply):
    return ExecutedCall("look", {"order": order}, reply)


def back(order, items, paid):
    return ExecutedCall("back", {"order": order, "items": items, "paid": paid}, "requested")


def test_slots_of_a_call():
    found = call_slots(look("#1", "delivered 17 23 card"))
    assert found[ValueSlot("look", "in order")] == "#1" and found[ValueSlot("look", "out 0")] == "delivered"
    assert found[ValueSlot("look", "out -1")] == "card" and found[ValueSlot("look", "out 1:-1")] == ["17", "23"]
    assert ValueSlot("look", "out 1:-1") not in call_slots(look("#1", "pending now"))


def test_values_follow_the_edges_of_earlier_trajectories():
    graph = ParameterGraph()
    graph.observe([look("#1", "delivered 17 23 card_5"), back("#1", ["17", "23"], "card_5")])
    graph.observe([look("#2", "delivered 44 card_6"), back("#2", ["44"], "card_6")])
    calls = [look("#9", "delivered 1 2 3 card_7")]
    assert graph.fill("back", ["order", "items", "paid"], calls, goal="") == {
        "order": "#9",
        "items": ["1", "2", "3"],
        "paid": "card_7",
    }
    assert (ValueSlot("look", "in order"), 2) in list(graph.edges("back", "order"))
    assert graph.fill("back", ["order", "items", "paid"], [look("#9", "pending")], goal="") is None


def test_the_latest_call_of_a_tool_counts():
    graph = ParameterGraph()
    graph.observe([look("#1", "a b c"), look("#2", "d e f"), back("#2", ["e"], "f")])
    calls = [look("#3", "g h i"), look("#4", "j k l")]
    assert graph.fill("back", ["order"], calls, goal="") == {"order": "#4"}


def test_a_chance_equality_fills_nothing():
    graph = ParameterGraph()
    late, wrong = (ExecutedCall("cancel", {"reason": one}, "") for one in ("late", "wrong"))
    for second in (late, late, wrong, late, wrong):
        graph.observe([late, second])
    assert ValueSlot("cancel", "in reason") in dict(graph.edges("cancel", "reason"))
    for _ in range(4):
        graph.observe([late, wrong])
    assert list(graph.edges("cancel", "reason")) == []
    assert graph.fill("cancel", ["reason"], [ExecutedCall("cancel", {"reason": "x"}, "")], goal="it is wrong") == {
        "reason": "wrong"
    }


@pytest.mark.parametrize(
    "text, seen, value",
    [
        ("#W27 no longer needed", ["#W11"], "#W27"),
        ("#W27 no longer needed", ["no longer needed", "no longer"], "no longer needed"),
        ("#W27 status?", ["no longer needed"], None),
        ("go to kitchen", ["kitchen"], "kitchen"),
        ("kitchens", ["kitchen"], None),
        ("#W27", [], None),
        ("#W27", [["#W1"], 5], None),
    ],
)
def test_goal_values(text, seen, value):
    assert goal_value(text, seen) == value


def test_a_share_out_of_range_is_refused():
    with pytest.raises(InputError, match="share"):
        ParameterGraph(least=2)
