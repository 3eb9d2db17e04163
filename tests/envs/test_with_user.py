import asyncio
import contextlib
import random

import pytest
from helpers import chat_server as chat

from handaxe.asking.conversation_question import conversation_question
from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy, Bounded
from handaxe.core.records import Branch, Ending, Group, Message, ParsedTurn, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, AuxChat, EnvReply
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.with_user import STOP, User, with_user
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts import driver
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_env
from handaxe.tools.calculator import calculator
from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import replay

TASK = Task("t", (Message("user", "2*7=?"),))
SURE = User(lambda task, view, seed: "Are you sure?" if len(view) == 2 else STOP)
ASK = conversation_question("user", "user", names={"user": "agent", "assistant": "you"})
MODEL = User(SURE.rule, ASK)
CALL = ToolCall("calculator", {"expression": "2*7"})
TOOLS = tool_chat([calculator])


def played(env, script, aux=(), rollout=linear(max_turns=6), seed=3):
    """A scripted policy with a user."""
    policies = dict(aux)
    made = Attempt(TASK, env, Compact(), Sampling(), "t/0", 0, seed, 900, aux_policies=aux_chats(policies))
    engine = ScriptedEngine(Compact(), script, tools=[calculator.schema])
    engines = {name: one.engine for name, one in policies.items()}
    (found,) = driver.run([made], rollout, engine, aux_engines=engines)
    for one in found:
        check(one)
    return found


def scripted(*texts):
    return AuxPolicy(ScriptedEngine(Compact(), list(texts)), Compact(), Sampling(max_tokens=60))


def heard(one):
    return [(message.role, message.content) for message in one.messages]


def test_with_user_matches_the_docstring_example():
    (one,) = played(with_user(TOOLS, SURE), ["14", "14"])
    texts = ["2*7=?", "14", "Are you sure?", "14", STOP]
    assert heard(one) == list(zip(["user", "assistant", "user", "assistant", "user"], texts, strict=True))
    assert one.ending == Ending("completed") and one.final_text == "14"
    assert (one.env["user_replies"], one.env["user_ended"]) == (2, True)
    assert [turn.facts["user_replies"] for turn in one.turns] == [1, 2]


def test_calls_go_to_the_tools_and_the_user_never_sees_them():
    seen = []

    def rule(task, view, seed):
        seen.append([(one.role, one.content, one.calls) for one in view])
        return STOP

    (one,) = played(with_user(TOOLS, User(rule)), [CALL, "14"])
    assert seen == [[("assistant", "2*7=?", ()), ("user", "14", ())]] and one.replies[0].content == "14"
    assert [role for role, _ in heard(one)] == ["user", "assistant", "tool", "assistant", "user"]


def test_the_environment_contract_holds():
    check_env(with_user(TOOLS, SURE), TASK)
    check_env(with_user(TOOLS, SURE), TASK, turn=ParsedTurn("14"))


def test_an_opening_follows_the_messages_of_the_environment():
    user = SURE._replace(opening=lambda task: f"I have a question: {task.messages[-1].content}")
    env = with_user(TOOLS, user)(TASK)
    messages, _ = env.start()
    assert [one.content for one in messages] == ["2*7=?", "I have a question: 2*7=?"]
    assert env.step(ParsedTurn("14"), seed=0).messages == (Message("user", "Are you sure?"),)


def test_a_stochastic_user_equals_a_slow_loop_by_seeds():
    """The slow twin keeps the view by hand and derives each seed from the policy's turn."""

    def automaton(task, view, seed):
        draw = random.Random(seed).random()
        return STOP if draw < 0.3 else f"And {len(view)}? {draw:.3f}"

    lengths = set()
    for seed in range(30):
        (one,) = played(with_user(TOOLS, User(automaton)), ["14"] * 6, seed=seed)
        view, expected = [Message("assistant", "2*7=?")], [("user", "2*7=?")]
        for turn in one.turns:
            view.append(Message("user", "14"))
            expected.append(("assistant", "14"))
            said = automaton(TASK, view, derive_seed(turn.seed, "user"))
            view.append(Message("assistant", said))
            expected.append(("user", said))
            if said == STOP:
                break
        assert heard(one) == expected and (one.ending.kind == "completed") == (expected[-1][1] == STOP)
        (again,) = played(with_user(TOOLS, User(automaton)), ["14"] * 6, seed=seed)
        assert again.messages == one.messages
        lengths.add(len(one.turns))
    assert {1, 2, 3} <= lengths


class InThreads:
    async def run(self, work, *, seconds=None, limit=None):
        return work()


def test_astep_equals_step():
    for turn in (ParsedTurn("14"), ParsedTurn("", (CALL,)), ParsedTurn("", (), ("malformed",))):
        one, other = with_user(TOOLS, SURE)(TASK), with_user(TOOLS, SURE)(TASK)
        one.start()
        other.start()
        replies = [one.step(turn, seed=5), asyncio.run(other.astep(turn, seed=5, threads=InThreads()))]
        assert replies[0].messages == replies[1].messages and one.report() == other.report()


class Stubborn:
    """An environment that never ends, and counts its texts."""

    def __init__(self, task):
        self.texts = 0

    def start(self):
        return TASK.messages, ()

    def step(self, turn, *, seed):
        self.texts += not turn.calls
        return EnvReply((Message("user", "more"),), facts={"texts": self.texts})

    def report(self):
        return {"texts": self.texts}

    def close(self):
        pass


def test_the_user_ends_an_environment_that_goes_on():
    (one,) = played(with_user(Stubborn, SURE), ["14", "15"])
    assert one.ending == Ending("completed") and one.env["texts"] == 1
    assert heard(one)[-2:] == [("user", "more"), ("user", STOP)]
    assert one.turns[-1].facts == {"texts": 1, "user_replies": 2}


def test_a_model_speaks_in_place_of_the_rule_and_its_turns_are_recorded():
    (one,) = played(with_user(TOOLS, MODEL), ["14", "14"], aux={"user": scripted("", "Really?", f"Thanks. {STOP}")})
    assert [text for role, text in heard(one) if role == "user"] == ["2*7=?", "Really?", f"Thanks. {STOP}"]
    (said,) = one.aux_turns
    assert said.by == "user" and len(said.turns) == 3 and one.ending == Ending("completed")
    assert "you: 2*7=?\\nagent: 14" in said.messages[-2].content


def test_a_silent_model_ends_the_rollout_unscored():
    (one,) = played(with_user(TOOLS, MODEL), ["14", "14"], aux={"user": scripted("", " ")})
    assert one.ending == Ending("infra_error", "'user' gave no reply") and len(one.turns) == 1


def test_a_model_without_a_request_is_refused():
    with pytest.raises(InputError, match="no request to a model: give User"):
        played(with_user(TOOLS, SURE), ["14"], aux={"user": scripted("a")})


def test_a_user_does_not_wrap_a_user():
    with pytest.raises(InputError, match="asks auxiliary policies itself"):
        with_user(with_user(TOOLS, SURE), SURE)(TASK)


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("aux", [(), ("Really?", STOP)], ids=["rule", "model"])
def test_a_replay_repeats_the_conversation(tools, aux):
    policies = {"user": scripted(*aux)} if aux else {}
    env = with_user(TOOLS, MODEL)
    group = Group(TASK, tuple(played(env, [CALL, "14", "15"], aux=policies)))
    setup = Setup(linear(max_turns=6), Compact(), env, Sampling(), 900, tools=tools, aux_policies=aux_chats(policies))
    assert not any(one.differences for one in replay(group, setup))


def test_a_fork_restores_the_view():
    rollout = forking(at=lambda one: [Branch(one.id, 0, one.turns[1].start)], max_turns=6)
    trunk, branch = played(with_user(TOOLS, SURE), ["14", "15"], rollout=rollout)
    assert trunk.env == branch.env and branch.messages[-1].content == STOP and branch.env["user_replies"] == 2


def test_a_limit_on_environments_is_inherited():
    class Limited:
        most = 2

        def __call__(self, task):
            return TOOLS(task)

    assert isinstance(with_user(Limited(), SURE), Bounded) and not isinstance(with_user(TOOLS, SURE), Bounded)


def served(answer):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(chat.ChatServer(answer))
        options = {"model": "m", "format": Transcript(), "backoff": 0.001, "attempts": 2, "timeout": 0.3}
        engine = stack.enter_context(contextlib.closing(OpenAICompatible(server.url, **options)))
        policy = AuxPolicy(engine, Transcript(), Sampling(max_tokens=30))
        return played(with_user(TOOLS, MODEL), ["14"], aux={"user": policy})[0]


def test_a_served_user_ends_the_conversation():
    one = served(chat.reply(STOP))
    assert one.ending == Ending("completed") and one.env["user_ended"] and one.aux_turns[0].by == "user"


@pytest.mark.parametrize("answer", [(500, {"error": "down"}), (200, b"<html>"), chat.reply(" "), "cut"])
def test_a_server_that_fails_is_no_score_and_the_rule_does_not_speak(answer):
    one = served(answer)
    assert one.ending.kind == "infra_error" and heard(one) == [("user", "2*7=?"), ("assistant", "14")]


def test_a_text_of_the_policy_cannot_end_the_conversation():
    """Only the user's own text is read for the ending word."""
    (one,) = played(with_user(TOOLS, SURE), [STOP, "14"])
    assert one.env["user_replies"] == 2 and heard(one)[2] == ("user", "Are you sure?")
    chats = {"user": AuxChat(Compact(), Sampling(max_tokens=20), 300)}
    env = with_user(TOOLS, MODEL)(TASK)
    env.on_open(aux_policies=chats, max_turns=3)
    env.start()
    asked = env.step(ParsedTurn(STOP), seed=0).aux_request
    assert not env.on_aux_reply(ParsedTurn("Why?"), seed=0).done and asked.messages[0].content.count(STOP) == 2


def test_the_plan_needs_no_driver():
    engine = ScriptedEngine(Compact(), ["14", "14"], tools=[calculator.schema])
    attempt = Attempt(TASK, with_user(TOOLS, SURE), Compact(), Sampling(), "t/0", 0, 3, 900)
    (one,) = run_plan(linear()(attempt), sample=lambda name, request: engine.sample([request])[0])
    assert one.env["user_ended"]
