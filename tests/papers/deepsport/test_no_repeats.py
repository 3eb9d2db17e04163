from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.deepsport.no_repeats import no_repeats
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [
    LabCase("no_repeats()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: no_repeats()),
]


def view(span):
    return ToolCall("view", {"span": span})


def score(reward, *calls):
    one = make_trajectory(calls=[[call] for call in calls] or [[]])
    return reward(make_group(trajectories=[one])).outcome[0]


def test_no_repeats_matches_its_example():
    assert score(no_repeats(), view("8 16"), view("0 8")) == 1
    assert score(no_repeats(), view("8 16"), view("0 8"), view("8 16")) == 0


def test_no_repeats_matches_a_slow_loop():
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


def test_equal_calls_in_one_turn_earn_0():
    one = make_trajectory(calls=[[view("1"), view("1")]])
    assert no_repeats()(make_group(trajectories=[one])).outcome.tolist() == [0]


def test_calls_of_other_tools_may_repeat():
    again = ToolCall("calculator", {"expression": "1+1"})
    assert score(no_repeats(tools=("view",)), again, again, view("1")) == 1
    assert score(no_repeats(tools=("view",)), view("1"), view("1")) == 0


def test_a_rollout_without_calls_earns_1():
    assert score(no_repeats()) == 1
    assert no_repeats()(make_group(trajectories=[make_trajectory(layouts=["UUt"])])).outcome.tolist() == [1]


def test_a_string_of_tools_is_rejected():
    with pytest.raises(InputError, match="tools is 'view'"):
        no_repeats(tools="view")
