import asyncio

from handaxe.core.protocols import AsyncEnv, OnAuxReply
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper, EnvWrapper
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


class Louder(AsyncEnvWrapper):
    def transform_turn(self, turn):
        return turn if turn.calls else CALL

    def transform_reply(self, reply):
        return reply._replace(messages=tuple(Message(m.role, m.content + "!", name=m.name) for m in reply.messages))


class InThreads:
    async def run(self, work, *, seconds=None, limit=None):
        return work()


def test_wrapper_forwards_everything():
    inner, outer = env(), EnvWrapper(env())
    assert inner.start() == outer.start()
    assert [inner.step(CALL, seed=0).messages for _ in range(2)] == [
        outer.step(CALL, seed=0).messages for _ in range(2)
    ]
    state = outer.snapshot()
    assert outer.step(CALL, seed=0).messages[0].content == "3"
    outer.restore(state)
    assert outer.step(CALL, seed=0).messages[0].content == "3" and outer.report() == outer.env.report()


def test_transforms_apply_to_step_and_astep():
    class Plain:
        """Environment without `astep`."""

        def __init__(self):
            self.start, self.step = (inner := env()).start, inner.step

    for make in (env, Plain):
        for later in (False, True):
            outer = Louder(make())
            outer.start()
            turn = ParsedTurn("no call")
            reply = outer.astep(turn, seed=0, threads=InThreads()) if later else outer.step(turn, seed=0)
            assert (asyncio.run(reply) if later else reply).messages[0].content == "1!"


def test_plain_wrapper_has_no_astep():
    assert isinstance(env(), AsyncEnv) and not isinstance(EnvWrapper(env()), AsyncEnv)


def test_auxiliary_replies_are_transformed():
    class Hearing:
        def on_aux_reply(self, turn, *, seed):
            return EnvReply((Message("user", turn.text),))

    assert not isinstance(EnvWrapper(env()), OnAuxReply) and isinstance(Louder(Hearing()), OnAuxReply)
    assert Louder(Hearing()).on_aux_reply(ParsedTurn("well"), seed=0).messages[0].content == "well!"
