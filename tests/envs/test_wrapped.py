import asyncio

from handaxe.core.protocols import AsyncEnv, OnAuxReply
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapped import AsyncWrapped, Wrapped
from handaxe.tools.decorator import tool

TASK = Task("a", (Message("user", "?"),))
CALL = ParsedTurn("", (ToolCall("count", {}, "0-0"),))


class Counter:
    def __init__(self):
        self.count_ = 0

    @tool
    def count(self) -> str:
        """Count."""
        self.count_ += 1
        return str(self.count_)

    def snapshot(self):
        return self.count_

    def restore(self, state):
        self.count_ = state


def env():
    return tool_chat([lambda: Counter()])(TASK)


class Louder(AsyncWrapped):
    def told(self, turn):
        return turn if turn.calls else CALL

    def said(self, reply):
        return reply._replace(messages=tuple(Message(m.role, m.content + "!", name=m.name) for m in reply.messages))


class InThreads:
    async def run(self, work, *, seconds=None, limit=None):
        return work()


def test_it_does_what_the_inner_one_does():
    inner, outer = env(), Wrapped(env())
    assert inner.start() == outer.start()
    assert [inner.step(CALL, seed=0).messages for _ in range(2)] == [
        outer.step(CALL, seed=0).messages for _ in range(2)
    ]
    state = outer.snapshot()
    assert outer.step(CALL, seed=0).messages[0].content == "3"
    outer.restore(state)
    assert outer.step(CALL, seed=0).messages[0].content == "3" and outer.report() == outer.env.report()


def test_what_is_changed_is_changed_both_ways():
    class Plain:
        """One without an `astep` of its own."""

        def __init__(self):
            self.start, self.step = (inner := env()).start, inner.step

    for make in (env, Plain):
        for later in (False, True):
            outer = Louder(make())
            outer.start()
            turn = ParsedTurn("no call")
            reply = outer.astep(turn, seed=0, threads=InThreads()) if later else outer.step(turn, seed=0)
            assert (asyncio.run(reply) if later else reply).messages[0].content == "1!"


def test_one_that_is_not_async_is_stepped_in_a_thread_whatever_is_inside():
    assert isinstance(env(), AsyncEnv) and not isinstance(Wrapped(env()), AsyncEnv)


def test_it_hears_where_the_inner_one_does():
    class Hearing:
        def heard(self, turn, *, seed):
            return EnvReply((Message("user", turn.text),))

    assert not isinstance(Wrapped(env()), OnAuxReply) and isinstance(Louder(Hearing()), OnAuxReply)
    assert Louder(Hearing()).heard(ParsedTurn("well"), seed=0).messages[0].content == "well!"
