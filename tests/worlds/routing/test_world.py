"""Tools run for real; the small model is trained once, in some seconds, and cached."""

import dataclasses

import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Group, Message, ParsedTurn, PlayedGroup, Sampling, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.router_r1.running_cost import running_cost
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted
from handaxe.rollouts.linear import linear
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay import Setup, replay
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.routing.desk import EXPERTS, MAX_REPLY, SECONDS, Desk, small_model
from handaxe.worlds.routing.skill import main, skills
from handaxe.worlds.routing.world import ABLE, question_call, routing

LIKES = ("cheap", "calculator", "python")
FORMAT = Compact()


def asks(*experts):
    """A policy that asks these tools the task's question, one per turn, and repeats the last reply."""

    def speaker(task, facts):
        if facts["turn"] < len(experts):
            return Message("assistant", "", (question_call(experts[facts["turn"]], task),))
        return Message("assistant", facts["replies"][-1].strip("'"))

    return speaker


def played(world, task, *experts, id="a"):
    return demonstrate(world.env(()), task, asks(*experts), format=FORMAT, id=id)


def bytes_said(reply):
    return len(reply.content.encode()) + 1


@pytest.mark.parametrize("likes", [(), LIKES])
def test_routing_keeps_the_world_contract(likes):
    world = routing(likes=likes)
    check_world(world, count=12)
    check_env(world.env(()), world.tasks("train", 1, 0)[0])


def test_prices_are_drawn_and_shown_per_task():
    world, orders = routing(likes=LIKES), set()
    for task in world.tasks("train", 60, 0):
        prices = task.metadata["prices"]
        assert len(set(prices.values())) == 3 and min(prices, key=prices.get) == "small"
        shown = " ".join(f"{name} {price}" for name, price in prices.items())
        assert shown in task.messages[0].content and task.messages[0].content.endswith(f"like {task.metadata['like']}")
        orders.add(prices["calculator"] < prices["python"])
        assert prices[task.metadata["dear"]] == max(prices.values())
        preference = task.metadata["preference"]
        wanted = {"cheap": "cost"}.get(task.metadata["like"], task.metadata["like"])
        assert [name for name, weight in preference.items() if weight] == ["outcome", wanted]
    assert orders == {True, False}


def test_other_prices_keep_the_questions():
    seen, unseen = (own.tasks("test", 8, 3) for own in (routing(), routing(cheap=(3,), middle=(5,), dear=(6,))))
    assert [one.metadata["question"] for one in seen] == [one.metadata["question"] for one in unseen]
    assert {price for one in unseen for price in one.metadata["prices"].values()} == {3, 5, 6}


def test_measured_skills_match_the_construction():
    found = skills(count=60)
    assert found["python"] == {"easy": 1.0, "hard": 1.0, "text": 1.0}
    assert found["calculator"] == {"easy": 1.0, "hard": 1.0, "text": 0.0}
    assert found["small"]["easy"] > 0.9 and found["small"]["hard"] < 0.1 and found["small"]["text"] < 0.1


def test_main_prints_skills(capsys):
    main(count=4)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERTS)


def test_cost_equals_tokens_times_price_from_the_record(tmp_path):
    world = routing()
    tasks = world.tasks("train", 6, 1)
    groups = []
    for n, task in enumerate(tasks):
        made = [played(world, task, one, "python", id=f"{n}-{one}") for one in ABLE[task.metadata["difficulty"]]]
        groups.append(Group(task, tuple(dataclasses.replace(one, sample=i) for i, one in enumerate(made))))
    with RunRecord(tmp_path) as record:
        record.write_step(0, [PlayedGroup(group) for group in groups], {})
    with RunRecord.open(tmp_path) as record:
        read = record.trajectories()
    assert len(read) == sum(map(len, groups))
    for one in read:
        prices, desk = one.task.metadata["prices"], one.env["state"]["Desk"]
        assert desk["prices"] == prices and [bill["expert"] for bill in desk["bills"]] == [r.name for r in one.replies]
        for reply, bill in zip(one.replies, desk["bills"], strict=True):
            assert bill["tokens"] == bytes_said(reply)
            assert reply.cost == prices[reply.name] * bytes_said(reply)
            assert reply.seconds == SECONDS[reply.name] * bytes_said(reply)
        assert one.cost == sum(prices[bill["expert"]] * bill["tokens"] for bill in desk["bills"]) == one.usage.cost


def test_replay_reproduces_costs_seconds_and_rewards():
    world = routing(likes=LIKES)
    setup = Setup(linear(), FORMAT, world.env(()), Sampling(), 1 << 20, tools=True)
    for task in world.tasks("train", 5, 2):
        able = ABLE[task.metadata["difficulty"]]
        group = Group(task, tuple(played(world, task, one, id=one) for one in able))
        assert not [found for one in replay(group, setup) for found in one.differences]
        again = Group(task, tuple(played(world, task, one, id=one) for one in able))
        for make in (
            lambda: running_cost(base=world.correct, share=0.6),
            lambda: preference_weighted(base=world.correct),
        ):
            assert make()(group).outcome.tolist() == make()(again).outcome.tolist()
        assert [r.seconds for one in group for r in one.replies] == [r.seconds for one in again for r in one.replies]


def test_replay_detects_another_price():
    world = routing()
    task = world.tasks("train", 1, 2)[0]
    dearer = dataclasses.replace(
        task, metadata={**task.metadata, "prices": {n: p + 1 for n, p in task.metadata["prices"].items()}}
    )
    one = dataclasses.replace(played(world, task, "python"), task=dearer)
    env = lambda task: tool_chat([lambda: Desk(dearer, small_model())])(task)  # noqa: E731
    (found,) = replay(Group(dearer, (one,)), Setup(linear(), FORMAT, env, Sampling(), 1 << 20, tools=True))
    assert any(difference.what == "replies" and "cost" in difference.recorded for difference in found.differences)


def test_swapped_prices_swap_the_rewards():
    world = routing()
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["difficulty"] == "hard")
    prices = task.metadata["prices"]
    swapped = {**prices, "calculator": prices["python"], "python": prices["calculator"]}
    other = dataclasses.replace(task, metadata={**task.metadata, "prices": swapped})
    earned = []
    for own in (task, other):
        group = Group(own, tuple(played(world, own, e, id=e) for e in ("calculator", "python")))
        earned.append(running_cost(base=world.correct, share=0.6)(group).outcome.tolist())
        cheaper = int(own.metadata["prices"]["python"] < own.metadata["prices"]["calculator"])
        assert earned[-1][cheaper] > earned[-1][1 - cheaper]
    assert earned[0] == earned[1][::-1]


def test_gauges_count_costs_and_calls_by_tool():
    world = routing(likes=LIKES)
    tasks = world.tasks("train", 60, 0)
    task = next(
        t
        for t in tasks
        if t.metadata["difficulty"] == "hard"
        and t.metadata["like"] == "python"
        and t.metadata["prices"]["calculator"] < t.metadata["prices"]["python"]
    )
    both = played(world, task, "calculator", "python")

    def ratio(name, one, right=1.0):
        gauge = world.gauges[name]
        return gauge.top(one, right), gauge.bottom(one, right)

    assert ratio("cheapest", both) == (1, 2) and ratio("liked", both) == (1, 2) == ratio("python_share", both)
    assert ratio("small_share", both) == (0, 2)
    assert ratio("cost_per_correct", both) == (both.cost, 1) and ratio("cost_per_correct", both, 0.0) == (both.cost, 0)
    cheap = next(t for t in tasks if t.metadata["like"] == "cheap")
    assert ratio("liked", played(world, cheap, "python")) == (0, 0)


def test_error_messages_are_billed_and_forks_keep_bills():
    world = routing()
    env = world.env(())(world.tasks("train", 1, 0)[0])
    env.start()

    def asked(name, **arguments):
        return env.step(ParsedTurn("", (ToolCall(name, arguments, "c0"),)), seed=0).replies[0]

    prices = world.tasks("train", 1, 0)[0].metadata["prices"]
    for name, arguments in (("calculator", {"expression": "1/0"}), ("python", {"code": "print(12*34)\n1/0"})):
        reply = asked(name, **arguments)
        assert (reply.status, reply.cost) == ("ok", prices[name] * bytes_said(reply))
        assert reply.seconds == SECONDS[name] * bytes_said(reply)
    assert reply.content.startswith("408\nTraceback")
    assert asked("python", code="x = 5\nx").cost > 0
    state = env.snapshot()
    asked("small", question="1+1")
    assert len(env.report()["state"]["Desk"]["bills"]) == 4
    env.restore(state)
    assert len(env.report()["state"]["Desk"]["bills"]) == 3 and asked("python", code="x").content == "5"
    env.close()


def test_truncated_replies_cost_their_remaining_length():
    world = routing()
    task = world.tasks("train", 1, 0)[0]
    env = world.env(())(task)
    env.start()
    for code in ("print('7' * 100_000)", "raise ValueError('7' * 100_000)"):
        (reply,) = env.step(ParsedTurn("", (ToolCall("python", {"code": code}, "c0"),)), seed=0).replies
        assert len(reply.content) <= MAX_REPLY and "characters cut" in reply.content
        assert reply.cost == task.metadata["prices"]["python"] * bytes_said(reply)
    env.close()


def test_tools_with_a_taken_name_raise_early():
    with pytest.raises(ToolDefinitionError, match="calculator"):
        routing().env([calculator])


def test_arguments_out_of_range_raise():
    for wrong in ({"cheap": ()}, {"cheap": (0,)}, {"middle": (2,)}, {"dear": (4, 9)}):
        with pytest.raises(InputError, match="prices"):
            routing(**wrong)
    for wrong in ({"likes": ("dear",)}, {"easy": 0.95}, {"text": -0.1}):
        with pytest.raises(InputError):
            routing(**wrong)
    with pytest.raises(TaskError, match="empty"):
        routing().tasks("train", 0, 0)
