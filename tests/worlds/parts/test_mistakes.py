import random

import pytest

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.compact import Compact
from handaxe.papers.ftrl.toolchains import toolchains
from handaxe.tools.compute import compute
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.mistakes import lost_digit, with_mistakes
from handaxe.worlds.slips import slips
from handaxe.worlds.sums import sums


def played(world, expert, task, tools=None):
    return demonstrate(world.env(world.tools if tools is None else tools), task, expert, format=Compact())


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def test_the_wrong_call_is_carried_out_before_the_right_one():
    world = sums(easy=0.0)
    expert = with_mistakes(world.expert)
    for task in world.tasks("train", 40, 0):
        one = played(world, expert, task)
        wrong, call = (call.arguments["expression"] for call in one.calls)
        assert call == task.metadata["expression"] and len(wrong) == len(call) - 1
        assert one.replies[0].status == "ok" and one.replies[1].content == task.answer
        assert right(world, one) == 1 and len(one.turns) == 3


@pytest.mark.parametrize("world", [toolchains(), slips()], ids=["toolchains", "slips"])
def test_it_is_as_right_as_the_expert_where_one_call_needs_what_another_said(world):
    expert, wrong = with_mistakes(world.expert), 0
    for task in world.tasks("train", 20, 0):
        plain, one = played(world, world.expert, task), played(world, expert, task)
        assert right(world, one) == right(world, plain) == 1
        wrong += len(one.calls) - len(plain.calls)
    assert wrong > 5


def test_a_share_of_the_tasks_is_begun_wrongly_and_always_the_same():
    world = sums(easy=0.0)
    tasks = world.tasks("train", 200, 0)
    counts = [len(played(world, with_mistakes(world.expert, share=0.3), task).calls) for task in tasks]
    assert sum(counts) / len(counts) == pytest.approx(1.3, abs=0.08)
    assert counts == [len(played(world, with_mistakes(world.expert, share=0.3), task).calls) for task in tasks]
    other = [len(played(world, with_mistakes(world.expert, share=0.3, seed=1), task).calls) for task in tasks]
    assert other != counts
    assert {len(played(world, with_mistakes(world.expert, share=0.0), task).calls) for task in tasks} == {1}


def test_where_the_expert_does_not_call_nothing_is_wrong():
    world = sums(easy=1.0)
    for task in world.tasks("train", 10, 0):
        assert [turn.parsed.text for turn in played(world, with_mistakes(world.expert), task).turns] == [task.answer]
        assert not played(world, with_mistakes(world.expert), task, tools=()).calls


def test_a_wrong_call_of_ones_own():
    world = sums(easy=0.0)
    (task,) = world.tasks("train", 1, 0)
    other = with_mistakes(world.expert, wrong=lambda task, call, rng: ToolCall("compute", {"left": 1}))
    one = played(world, other, task, tools=(*world.tools, compute))
    assert [call.name for call in one.calls] == ["compute", "calculator"] and one.replies[0].status == "invalid"
    none = with_mistakes(world.expert, wrong=lambda task, call, rng: None)
    assert len(played(world, none, task).calls) == 1


def test_what_the_environment_says_of_its_state_is_handed_on():
    seen = []

    def expert(task, facts):
        seen.append(facts)
        return Message("assistant", "", (ToolCall("f", {"x": "12"}),))

    state = {"turn": 2, "replies": ["b"], "statuses": ["ok"], "tools": ["f"], "sure": True, "room": "hall"}
    (task,) = sums().tasks("train", 1, 0)
    with_mistakes(expert)(task, state)
    assert seen[-1] == {**state, "turn": 1}
    with_mistakes(expert)(task, {**state, "turn": 1})
    assert seen[-1] == {**state, "turn": 0, "replies": [], "statuses": []}


def test_a_digit_is_lost_where_there_is_one():
    rng = random.Random(0)
    (task,) = sums().tasks("train", 1, 0)
    found = {lost_digit(task, ToolCall("f", {"x": "12*34"}), rng).arguments["x"] for _ in range(30)}
    assert found == {"1*34", "12*3"}
    assert lost_digit(task, ToolCall("f", {"x": "7"}), rng) is None
    assert calls_then_answer(lambda task, facts: ())(task, {"turn": 0}).content == task.answer
