"""A language model as the user of MUA-RL: retail with all tools, and the short tasks, with a served user."""

import contextlib

import pytest
from helpers import chat_server as chat
from helpers.methods import made

pytest.importorskip("tau2")

from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Ending, Group, Message, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs
from handaxe.rollouts import driver
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.worlds.tau2.state import gold_actions
from handaxe.worlds.tau2.world import tau2

FORMAT = Transcript()


def played(world, task, script, *answers):
    """A scripted agent and a served user; the trajectory and the server."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(chat.ChatServer(*answers))
        engine = OpenAICompatible(server.url, model="m", format=FORMAT, backoff=0.001, attempts=2, timeout=0.3)
        stack.callback(engine.close)
        user = AuxPolicy(engine, FORMAT, Sampling(max_tokens=200))
        tools = world.env(())(task).start()[1]
        policy = ScriptedEngine(FORMAT, script, tools=tools)
        chats = aux_chats({"user": user})
        attempt = Attempt(
            task, world.env(()), FORMAT, Sampling(max_tokens=4000), "t/0", 0, 3, 1 << 20, aux_policies=chats
        )
        ((one,),) = driver.run([attempt], linear(max_turns=12), policy, aux_engines={"user": engine})
        return one, server


@pytest.fixture(scope="module")
def retail():
    """The benchmark's tasks with all tools, and one of them with reference calls."""
    world = tau2(domain="retail", user="requests")
    task = next(one for one in world.tasks("train", 30, 0) if one.metadata["scenario"] == "66")
    return world, task


def gold_script(task):
    calls = [ToolCall(one.name, dict(one.arguments)) for one in gold_actions("retail", task.metadata["scenario"])]
    return [*calls, "It is done."]


def test_a_served_user_plays_the_benchmarks_tasks_with_all_tools(retail):
    world, task = retail
    assert len(world.env(())(task).start()[1]) == 15
    one, server = played(world, task, gold_script(task), chat.reply("Thank you. ###STOP###"))
    assert one.ending == Ending("completed") and one.env["ended"] == "###STOP###"
    assert state_and_outputs()(Group(task, (one,))).outcome.tolist() == [1]
    (said,) = one.aux_turns
    assert said.by == "user" and len(said.turns) == 1 and len(one.replies) == 5
    (body,) = server.bodies
    assert [m["role"] for m in body["messages"]] == ["system", "assistant", "user"]
    assert "coat" in body["messages"][0]["content"] and body["messages"][2]["content"] == "It is done."
    assert not any("W3361211" in m["content"] for m in body["messages"][2:])  # no call and no result of the agent


def test_a_wrong_final_state_earns_nothing(retail):
    world, task = retail
    one, _ = played(world, task, ["I cannot do that."], chat.reply("###STOP###"))
    assert state_and_outputs()(Group(task, (one,))).outcome.tolist() == [0]


@pytest.mark.parametrize("failure", [(500, {}), "cut", "hang", (200, b"no json")])
def test_a_failing_user_is_never_a_score(retail, failure):
    world, task = retail
    one, _ = played(world, task, gold_script(task), failure)
    assert one.ending.kind == "infra_error" and "'user' cannot answer" in one.ending.reason


def test_the_user_of_a_short_task_knows_all_requests():
    world = tau2(domain="retail", user="requests", brief=True)
    task = world.tasks("train", 1, 0)[0]
    first, second = task.metadata["scenario"].split("|")
    one, server = played(world, task, ["done", "done"], chat.reply(second), chat.reply("###STOP###"))
    assert server.bodies[0]["messages"][0]["content"] == (
        f"You are a customer. Ask in turn: {first}; {second}. Then say ###STOP###"
    )
    assert [m.content for m in one.messages] == [first, "done", second, "done", "###STOP###"]
    assert one.messages[-1] == Message("user", "###STOP###")


def test_the_rule_is_the_default_user():
    assert made("mua_rl").aux_policies == {"user": "rule"}
    assert made("mua_rl", "--user", "self@start").aux_policies == {"user": "self@start"}
