import asyncio
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import Act
from handaxe.envs.slow import slow
from handaxe.envs.tool_chat import tool_chat
from handaxe.rollouts.driver.workers import Workers
from handaxe.tools.calculator import calculator

TASK = Task("t", (Message("user", "2*3=?"),))
CALL = ParsedTurn("", (ToolCall("calculator", {"expression": "2*3"}, "c0"),))

module = importlib.import_module("handaxe.envs.slow")


@pytest.fixture
def waits(monkeypatch):
    """Replace the module's sleeps by a list of waits; sleeps of other modules remain."""
    found = []

    async def sleep(seconds):
        found.append(seconds)

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=found.append))
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep))
    return found


def expected_wait(seed, median, sigma, longest):
    z = np.random.Generator(np.random.Philox(key=seed)).standard_normal()
    return min(longest, median * np.exp(sigma * z))


def test_slow_replies_are_equal_after_the_seeded_wait(waits):
    env = slow(tool_chat([calculator]), median=0.5, sigma=1.0, longest=100.0)(TASK)
    assert env.start() == tool_chat([calculator])(TASK).start()
    for seed in range(5):
        reply = env.step(CALL, seed=seed)
        assert reply.replies[0].content == "6" and reply.messages[0].content == "6"
        assert waits[-1] == pytest.approx(expected_wait(seed, 0.5, 1.0, 100.0))
        assert reply.replies[0].seconds >= waits[-1]
    assert len(set(waits)) == 5
    assert env.report()["replies"] == {"ok": 5}
    env.restore(slow(tool_chat([calculator]))(TASK).snapshot())
    assert env.report()["replies"] == {}
    env.close()


def test_waits_are_bounded_and_turns_without_calls_do_not_wait(waits):
    env = slow(tool_chat([calculator]), median=10.0, sigma=0.0, longest=0.25)(TASK)
    env.step(CALL, seed=1)
    assert waits == [0.25]
    assert env.step(ParsedTurn("6"), seed=1).done and waits == [0.25, 0.0]


@pytest.mark.parametrize("inside", ["astep", "step"])
def test_astep_gives_the_same_reply(waits, inside):
    made = tool_chat([calculator])
    env = slow(made)(TASK)
    if inside == "step":
        env.env = Plain(env.env)
    workers = Workers(2)
    try:
        workers.submit(0, Act(env, CALL, 3))
        ((ticket, answer),) = workers.ready(None)
    finally:
        workers.close()
    assert ticket == 0 and answer.value.replies[0].content == "6"
    assert waits == [pytest.approx(expected_wait(3, 0.05, 1.0, 2.0))]


class Plain:
    """An environment without `astep`."""

    def __init__(self, env):
        self.env = env

    def step(self, turn, *, seed):
        return self.env.step(turn, seed=seed)


def test_waits_overlap():
    """Two environments wait for each other: served one after the other they would never end."""
    both = asyncio.Barrier(2)

    class Meets:
        async def astep(self, turn, *, seed, threads):
            await both.wait()
            return (await asyncio.sleep(0)) or module.EnvReply(done=True)

    workers = Workers(1)
    try:
        for ticket in range(2):
            workers.submit(ticket, Act(slow(lambda task: Meets(), median=0.0)(TASK), CALL, ticket))
        found = []
        while len(found) < 2:
            done = workers.ready(60)
            assert done, "the two wait for each other for ever"
            found += done
    finally:
        workers.close()
    assert all(answer.value.done for _, answer in found)


@pytest.mark.parametrize("number", [-1.0, float("nan")])
@pytest.mark.parametrize("name", ["median", "sigma", "longest"])
def test_negative_and_nan_waits_raise(name, number):
    with pytest.raises(InputError, match="must not be negative"):
        slow(tool_chat([calculator]), **{name: number})
