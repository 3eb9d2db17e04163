import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.smart.chains import chain_steps, demonstrator
from handaxe.papers.smart.smart_chains import DOMAINS, smart_chains
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = smart_chains()
TASKS = WORLD.tasks("train", 200, 0)


def played(task, expert):
    return demonstrate(WORLD.env(WORLD.tools), task, expert, format=Compact())


def gauge(name, one):
    return WORLD.gauges[name].top(one, 1.0), WORLD.gauges[name].bottom(one, 1.0)


def test_smart_chains_keeps_the_contracts():
    check_world(WORLD, count=30)
    check_env(WORLD.env(WORLD.tools), TASKS[0])


def test_a_task_has_one_domain_and_known_steps():
    for task in TASKS:
        steps = chain_steps(task)
        needed = {one.kind for one in steps} - {"know"}
        assert needed <= {DOMAINS[task.metadata["domain"]]} and any(one.kind == "know" for one in steps)
        assert (task.metadata["needs"] == "yes") == bool(needed) and 2 <= len(steps) <= 3
        assert task.answer == " ".join(one.value for one in steps)
    assert {task.metadata["domain"] for task in TASKS} == set(DOMAINS)


def test_gauges_count_steps_by_decision():
    for task in TASKS[:40]:
        known = sum(one.kind == "know" for one in chain_steps(task))
        total = len(chain_steps(task))
        need, always, plain = (
            played(task, demonstrator(**options)) for options in ({}, {"shown": "always"}, {"justify": None})
        )
        assert [gauge("overuse", one) for one in (need, always, plain)] == [(0, known), (known, known), (0, known)]
        assert gauge("needed", need) == (total - known, total - known) == gauge("needed", always)
        assert [gauge("justified", one) for one in (need, always, plain)] == [
            (total, total),
            (total, total),
            (0, total),
        ]
        assert [gauge("calls_per_task", one)[0] for one in (need, always)] == [total - known, total]
        for one in (need, always, plain):
            assert WORLD.correct(Group(task, (one,))).outcome[0] == 1


def test_the_start_overuses_tools_in_a_share_of_the_tasks():
    for share in (0.0, 0.8, 1.0):
        world = smart_chains(overused=share)
        calls = [bool(world.expert(task, {"turn": 0}).calls) for task in TASKS if task.metadata["needs"] == "no"]
        assert abs(sum(calls) / len(calls) - share) < 0.15
    with pytest.raises(InputError, match="overused is 2"):
        smart_chains(overused=2)


def test_sources_know_the_steps_of_their_own_task_alone():
    task = next(one for one in TASKS if one.metadata["needs"] == "yes" and one.metadata["domain"] == "time")
    step = next(one for one in chain_steps(task) if one.kind == "search")
    env = WORLD.env(WORLD.tools)(task)
    env.start()

    def reply(name, argument, text):
        return env.step(ParsedTurn("", (ToolCall(name, {argument: text}, "c"),)), seed=0).replies[0]

    assert reply("search", "query", f" {step.query} ").content == step.value
    assert reply("ask_user", "question", step.query).status == "retry"
    assert reply("search", "query", "0").status == "retry"
