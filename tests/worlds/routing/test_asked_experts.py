import contextlib

import pytest
from helpers import chat_server as chat

from handaxe.core.endings import unscored_reason
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Ending, Message, ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, AuxChat
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.rollouts import driver
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_env
from handaxe.tools.ask import PolicyAnswer
from handaxe.worlds.routing.asked_experts import AskedExperts
from handaxe.worlds.routing.desk import Desk

PRICES = {"small": 2, "calculator": 8, "python": 4}
TASK = Task("t", (Message("user", "7*8=?"),), "56", None, {"prices": PRICES})


def rule(tool, question):
    return PolicyAnswer("rule", 0, 3)


def factory(task):
    def make(answer):
        return tool_chat([lambda: Desk(task, lambda question: answer("small", question))])(task)

    return AskedExperts(make, task, roles={"small": "small"}, rule=rule)


def ask(*questions):
    return ParsedTurn("", tuple(ToolCall("small", {"question": q}, f"c{k}") for k, q in enumerate(questions)))


def opened(models=("small",)):
    env = factory(TASK)
    env.on_open(aux_policies=dict.fromkeys(models, AuxChat(Compact(), Sampling(max_tokens=8), 400)), max_turns=3)
    env.start()
    return env


def test_the_environment_contract_holds():
    check_env(factory, TASK)


def test_the_rule_answers_without_a_model():
    for env in (opened(()), opened(("user",))):
        assert env.step(ask("7*8"), seed=0).replies[0].content == "rule"


def test_a_model_is_asked_each_question_once_and_billed_by_bytes():
    env = opened()
    reply = env.step(ask("7*8", " 7*8 ", "2+2"), seed=0)
    assert reply.aux_request.messages == (Message("user", "7*8"),) and reply.aux_request.by == "small"
    reply = env.on_aux_reply(ParsedTurn("fifty-six"), seed=0)
    assert reply.aux_request.messages == (Message("user", "2+2"),)
    reply = env.on_aux_reply(ParsedTurn(" 4\n"), seed=0)
    assert [one.content for one in reply.replies] == ["fifty-six", "fifty-six", "4"]
    assert [one.cost for one in reply.replies] == [2 * 10, 2 * 10, 2 * 2]
    assert env.step(ask("2+2"), seed=0).replies[0].content == "4"


def test_other_calls_and_wrong_arguments_ask_nobody():
    env = opened()
    other = ParsedTurn("", (ToolCall("calculator", {"expression": "2+2"}, "c"),))
    assert env.step(other, seed=0).replies[0].content == "4"
    for arguments in ({}, {"question": 3}, {"question": " "}):
        wrong = ParsedTurn("", (ToolCall("small", arguments, "c"),))
        assert env.step(wrong, seed=0).aux_request is None


def test_snapshots_keep_answers():
    env = opened()
    env.step(ask("7*8"), seed=0)
    env.on_aux_reply(ParsedTurn("56"), seed=0)
    other = opened()
    other.restore(env.snapshot())
    assert other.step(ask("7*8"), seed=0).replies[0].content == "56"


def served(answer):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(chat.ChatServer(answer))
        options = {"model": "m", "format": Transcript(), "backoff": 0.001, "attempts": 2, "timeout": 0.3}
        engine = stack.enter_context(contextlib.closing(OpenAICompatible(server.url, **options)))
        chats = aux_chats({"small": AuxPolicy(engine, Transcript(), Sampling(max_tokens=8))})
        _, schemas = factory(TASK).start()
        policy = ScriptedEngine(Compact(), [ToolCall("small", {"question": "7*8"}), "56"], tools=schemas)
        attempt = Attempt(TASK, factory, Compact(), Sampling(max_tokens=48), "t/0", 0, 5, 400, aux_policies=chats)
        ((one,),) = driver.run([attempt], linear(max_turns=3), policy, aux_engines={"small": engine})
        return one


def test_a_served_model_is_one_of_the_tools():
    one = served(chat.reply("56"))
    assert one.ending == Ending("completed") and one.replies[0].content == "56" and one.replies[0].cost == 6
    assert [turn.by for turn in one.aux_turns] == ["small"]


@pytest.mark.parametrize("answer", [(500, {"error": "down"}), (200, b"<html>"), chat.reply(" "), "cut"])
def test_a_server_that_fails_is_no_score_and_the_rule_does_not_answer(answer):
    one = served(answer)
    assert one.ending.kind == "infra_error" and unscored_reason(one.ending) == "infra_error" and not one.replies
