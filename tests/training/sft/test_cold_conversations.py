import pytest

from handaxe.core.records import Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.python import python
from handaxe.training.sft.cold_conversations import conversations
from handaxe.training.sft.scripted import trajectory_from_messages

pytest.importorskip("reasoning_gym")
TOOLS = {tool.schema.name: tool.schema for tool in (calculator, compute, python())}


def shown(count=120, weak=1.0, seed=3):
    return list(conversations(TOOLS, count=count, seed=seed, weak=weak))


def test_the_replies_shown_are_what_the_real_tools_reply():
    """Every correct demonstration, replayed against the environment: same call, same reply, right answer."""
    env_of = tool_chat([calculator, compute, python])
    replayed = 0
    for one in shown(weak=0.0):
        if not one.tools:
            continue
        said, reply, answer = one.messages[1:]
        env = env_of(Task("t", one.messages[:1], tools=tuple(tool.name for tool in one.tools)))
        try:
            env.start()
            trajectory = trajectory_from_messages(Compact(), one.messages, one.tools)
            got = env.step(trajectory.turns[0].parsed, seed=0)
        finally:
            env.close()
        assert [m.content for m in got.messages] == [reply.content] == [answer.content], said.calls
        replayed += 1
    assert replayed > 80


def test_the_weak_ones_are_weak_but_speak_the_protocol():
    trajectories = [trajectory_from_messages(Compact(), one.messages, one.tools) for one in shown(400)]
    offered = [t for t in trajectories if t.tools]
    called = sum(bool(t.calls) for t in offered) / len(offered)
    assert 0.25 < called < 0.55
    assert {call.name for t in offered for call in t.calls} > {"calculator", "python", "compute"}, (
        "and some invent tools"
    )


def test_the_same_seed_gives_the_same_conversations():
    assert shown(30) == shown(30) and shown(30) != shown(30, seed=4)
