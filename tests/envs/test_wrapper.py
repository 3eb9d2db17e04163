import asyncio

import numpy as np
import pytest

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.protocols import AsyncEnv, OnAuxReply, OnOpen
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import EnvReply
from handaxe.envs.noisy_replies import noisy_replies
from handaxe.envs.slow import slow
from handaxe.envs.task_router import task_router
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.without_tools import without_tools
from handaxe.envs.wrapper import AsyncEnvWrapper, EnvWrapper
from handaxe.papers.adareasoner.renamed_tools import renamed_tools
from handaxe.papers.flow_grpo.modular_agent import modular_agent
from handaxe.papers.tool_star.hinted_env import hinted
from handaxe.testing.tools import check_env
from handaxe.tools.crop import crop
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


def test_auxiliary_policies_and_turn_limit_reach_the_inner_environment():
    class Opening:
        def on_open(self, *, aux_policies, max_turns):
            self.opened = (dict(aux_policies), max_turns)

    assert not isinstance(EnvWrapper(env()), OnOpen)
    inner = Opening()
    outer = Louder(EnvWrapper(inner))
    assert isinstance(outer, OnOpen)
    outer.on_open(aux_policies={"user": None}, max_turns=3)
    assert inner.opened == ({"user": None}, 3)


IMAGE = Image.of(np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8))
SHOWN = Task(
    "s", (Message.of("user", "Which ", IMAGE, "?"),), metadata={"part": "x", "names": {"crop": "f1", "box": "p2"}}
)
INNER = tool_chat([crop()])
WRAPPED = {
    "none": INNER,
    "noisy": noisy_replies(INNER, share=0.5),
    "slow": slow(INNER, median=0.0),
    "without_tools": without_tools(INNER),
    "task_router": task_router("part", {"x": INNER}),
    "renamed_tools": renamed_tools(INNER),
    "modular_agent": modular_agent(INNER, verify=lambda task, memory: False, generate=lambda task, memory: ""),
    "hinted": hinted(INNER),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_wrappers_keep_placeholders_and_images_together(name):
    crops = [("crop", "box"), ("f1", "p2")]
    calls = [ToolCall(tool, {box: [0, 0, side, 8]}, f"{tool}{side}") for tool, box in crops for side in (3, 9)]
    turn = ParsedTurn("", tuple(calls))
    check_env(WRAPPED[name], SHOWN, turn=turn)
    env = WRAPPED[name](SHOWN)
    try:
        assert env.start()[0][0].images == (IMAGE,)
        reply = env.step(turn, seed=0)
        for one in (*reply.messages, *reply.replies):
            assert one.images == (IMAGE.crop((0, 0, 3, 8)),) if PLACEHOLDER in one.content else not one.images
        shown = sum(len(one.images) for one in reply.messages)
        assert shown == {"without_tools": 0, "noisy": shown}.get(name, 1)
        assert PLACEHOLDER not in str(env.report()) + str(dict(reply.facts))
    finally:
        env.close()
