import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.papers.deepsport.no_repeats import no_repeats
from handaxe.testing.records import make_group, make_trajectory


def view(span):
    return ToolCall("view", {"span": span})


def score(reward, *calls):
    one = make_trajectory(calls=[[call] for call in calls] or [[]])
    return reward(make_group(trajectories=[one])).outcome[0]


def test_example():
    assert score(no_repeats(), view("8 16"), view("0 8")) == 1
    assert score(no_repeats(), view("8 16"), view("0 8"), view("8 16")) == 0


def test_it_says_what_a_slow_loop_says():
    calls = [
        view("1"),
        view("2"),
        ToolCall("f", {"a": 1, "b": [2]}),
        ToolCall("f", {"b": [2], "a": 1}),
        ToolCall("f", {}),
        ToolCall("f", {"a": 1.0, "b": [2.0]}),
    ]
    for i in range(len(calls)):
        for j in range(len(calls)):
            equal = (calls[i].name, dict(calls[i].arguments)) == (calls[j].name, dict(calls[j].arguments))
            assert score(no_repeats(), calls[i], calls[j]) == (not equal)


def test_two_calls_of_one_turn_may_not_be_equal_either():
    one = make_trajectory(calls=[[view("1"), view("1")]])
    assert no_repeats()(make_group(trajectories=[one])).outcome.tolist() == [0]


def test_only_the_tools_named_count():
    again = ToolCall("calculator", {"expression": "1+1"})
    assert score(no_repeats(tools=("view",)), again, again, view("1")) == 1
    assert score(no_repeats(tools=("view",)), view("1"), view("1")) == 0


def test_no_call_and_no_turn_repeat_nothing():
    assert score(no_repeats()) == 1
    assert no_repeats()(make_group(trajectories=[make_trajectory(layouts=["UUt"])])).outcome.tolist() == [1]


def test_a_name_is_no_list_of_names():
    with pytest.raises(InputError, match="tools is 'view'"):
        no_repeats(tools="view")
