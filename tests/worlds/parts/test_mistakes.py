import random

import pytest

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.ftrl.toolchains import toolchains
from handaxe.tools.compute import compute
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.mistakes import add_mistakes, drop_digit


def played(world, expert, task, tools=None):
    return demonstrate(world.env(world.tools if tools is None else tools), task, expert, format=Compact())


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def test_the_incorrect_call_is_executed_before_the_correct_one():
    world = arithmetic(easy=0.0)
    expert = add_mistakes(world.expert)
    for task in world.tasks("train", 40, 0):
        one = played(world, expert, task)
        wrong, call = (call.arguments["expression"] for call in one.calls)
        assert call == task.metadata["expression"] and len(wrong) == len(call) - 1
        assert one.replies[0].status == "ok" and one.replies[1].content == task.answer
        assert right(world, one) == 1 and len(one.turns) == 3


@pytest.mark.parametrize("world", [toolchains(), arithmetic(easy=0.0, mistakes=True)], ids=["toolchains", "arithmetic"])
def test_answers_stay_correct_if_calls_depend_on_replies(world):
    expert, wrong = add_mistakes(world.expert), 0
    for task in world.tasks("train", 20, 0):
        plain, one = played(world, world.expert, task), played(world, expert, task)
        assert right(world, one) == right(world, plain) == 1
        wrong += len(one.calls) - len(plain.calls)
    assert wrong > 5


def test_share_selects_the_same_tasks_every_time():
    world = arithmetic(easy=0.0)
    tasks = world.tasks("train", 200, 0)
    counts = [len(played(world, add_mistakes(world.expert, share=0.3), task).calls) for task in tasks]
    assert sum(counts) / len(counts) == pytest.approx(1.3, abs=0.08)
    assert counts == [len(played(world, add_mistakes(world.expert, share=0.3), task).calls) for task in tasks]
    other = [len(played(world, add_mistakes(world.expert, share=0.3, seed=1), task).calls) for task in tasks]
    assert other != counts
    assert {len(played(world, add_mistakes(world.expert, share=0.0), task).calls) for task in tasks} == {1}


def test_tasks_without_calls_have_no_mistake():
    world = arithmetic(easy=1.0)
    for task in world.tasks("train", 10, 0):
        assert [turn.parsed.text for turn in played(world, add_mistakes(world.expert), task).turns] == [task.answer]
        assert not played(world, add_mistakes(world.expert), task, tools=()).calls


def test_a_custom_mistake_is_used():
    world = arithmetic(easy=0.0)
    (task,) = world.tasks("train", 1, 0)
    other = add_mistakes(world.expert, wrong=lambda task, call, rng: ToolCall("compute", {"left": 1}))
    one = played(world, other, task, tools=(*world.tools, compute))
    assert [call.name for call in one.calls] == ["compute", "calculator"] and one.replies[0].status == "invalid"
    none = add_mistakes(world.expert, wrong=lambda task, call, rng: None)
    assert len(played(world, none, task).calls) == 1


def test_environment_facts_are_passed_on():
    seen = []

    def expert(task, facts):
        seen.append(facts)
        return Message("assistant", "", (ToolCall("f", {"x": "12"}),))

    state = {"turn": 2, "replies": ["b"], "statuses": ["ok"], "tools": ["f"], "sure": True, "room": "hall"}
    (task,) = arithmetic().tasks("train", 1, 0)
    add_mistakes(expert)(task, state)
    assert seen[-1] == {**state, "turn": 1}
    add_mistakes(expert)(task, {**state, "turn": 1})
    assert seen[-1] == {**state, "turn": 0, "replies": [], "statuses": []}


def test_drop_digit_removes_one_digit():
    rng = random.Random(0)
    (task,) = arithmetic().tasks("train", 1, 0)
    found = {drop_digit(task, ToolCall("f", {"x": "12*34"}), rng).arguments["x"] for _ in range(30)}
    assert found == {"1*34", "12*3"}
    assert drop_digit(task, ToolCall("f", {"x": "7"}), rng) is None
    assert calls_then_answer(lambda task, facts: ())(task, {"turn": 0}).content == task.answer
