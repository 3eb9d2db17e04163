import contextlib
from dataclasses import replace

import pytest
from helpers import chat_server as chat

from handaxe.asking.conversation_question import conversation_question
from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import STOPPED, Branch, Ending, Group, Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, Stopped
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts import driver
from handaxe.rollouts.advised import Adviser, advised, after_failure, at_start, every
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.folding import folding
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Rules
from handaxe.rollouts.rewind import rewind
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.tools.fold_memory import fold_memory
from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import replay
from handaxe.training.replay.recorded import openings

TASK = Task("t", (Message("user", "12*34?"),))
OPERANDS = Adviser(lambda task, said, seed: "Give both operands.")
CALLS = [ToolCall("calculator", {"expression": "12*"}), ToolCall("calculator", {"expression": "12*34"}), "408"]
ENV = tool_chat([calculator])
MODEL = Adviser(OPERANDS.rule, conversation_question("adviser", "advise"))


def attempt(aux=(), **changes):
    plain = Attempt(TASK, ENV, Compact(), Sampling(), "t/0", 0, 3, 900, aux_policies=aux_chats(dict(aux)))
    return replace(plain, **changes)


def played(rollout, script=CALLS, aux=(), **changes):
    made = attempt(aux, **changes)
    engine = ScriptedEngine(made.format, script, tools=[calculator.schema])
    engines = {name: one.engine for name, one in dict(aux).items()}
    (found,) = driver.run([made], rollout, engine, aux_engines=engines)
    for one in found:
        check(one)
    return found


def scripted(*texts):
    return AuxPolicy(ScriptedEngine(Compact(), list(texts)), Compact(), Sampling(max_tokens=60))


def heard(one):
    """The conversation as (name or role, text)."""
    return [(message.name or message.role, message.content) for message in one.messages]


def test_advised_matches_the_docstring_example():
    (one,) = played(advised(linear(), OPERANDS))
    names = [name for name, _ in heard(one)]
    assert names == ["user", "assistant", "calculator", "adviser", "assistant", "calculator", "assistant"]
    assert one.messages[3] == Message("user", "Give both operands.", name="adviser")
    assert one.notes == {"interjected": [1]} and one.ending == Ending("completed") and one.final_text == "408"


def test_advice_is_read_and_never_trains():
    (one,) = played(advised(linear(), OPERANDS))
    (sequence,) = one.sequences
    shown = Compact().decode(sequence.ids.tolist())
    assert shown.count("Give both operands.") == 1
    trained = Compact().decode(sequence.ids[sequence.mask].tolist())
    assert "operands" not in trained and one.task == TASK


@pytest.mark.parametrize(
    "when, turns", [(at_start, [0]), (after_failure, [1]), (every(1), [1, 2]), (every(2), [2]), (every(3), [])]
)
def test_moments_of_advice(when, turns):
    (one,) = played(advised(linear(), OPERANDS, when=when))
    assert one.notes.get("interjected", []) == turns
    places = [k for k, message in enumerate(one.messages) if message.name == "adviser"]
    before = [sum(message.role == "assistant" for message in one.messages[:place]) for place in places]
    assert before == turns


def test_advised_equals_a_slow_loop_with_the_advice_in_the_replies(dice):
    """The slow twin writes the same message into the replies of the environment, turn by turn."""
    advice, turns = Message("user", "Go on.", name="adviser"), 0

    class Advising(dice.Counter):
        def step(self, turn, *, seed):
            reply = super().step(turn, seed=seed)
            again = not reply.done and len(self.asked) % 2 == 0
            return reply._replace(messages=(*reply.messages, advice)) if again else reply

    for seed in range(40):
        rollout = advised(linear(max_turns=7), Adviser(lambda task, said, seed: "Go on."), when=every(2))
        (one,) = run_plan(rollout(dice.attempt(seed, context=900)), sample=dice.roll)
        (slow,) = run_plan(linear(max_turns=7)(dice.attempt(seed, env=Advising, context=900)), sample=dice.roll)
        check(one)
        assert [turn.parsed for turn in one.turns] == [turn.parsed for turn in slow.turns]
        assert one.sequences[0].ids.tolist() == slow.sequences[0].ids.tolist() and one.ending == slow.ending
        turns += len(one.notes.get("interjected", []))
    assert turns > 20


def test_a_rule_draws_by_the_seed_and_may_be_silent():
    seen = []

    def rule(task, said, seed):
        seen.append((task.id, [message.role for message in said], seed))
        return "" if len(seen) == 1 else "Go on."

    (one,) = played(advised(linear(), Adviser(rule, role="coach"), when=every(1)))
    assert [name for name, _ in heard(one)].count("coach") == 1 and one.notes == {"interjected": [2]}
    assert seen[0] == ("t", ["user", "assistant", "tool"], derive_seed(3, "coach", 1))
    assert seen[1][1] == ["user", "assistant", "tool", "assistant", "tool"]


def test_nobody_advises_after_the_last_turn_or_an_auxiliary_policy():
    (one,) = played(advised(linear(max_turns=1), OPERANDS))
    assert one.ending == Ending("truncated", "turns") and one.notes == {}
    engine = ScriptedEngine(Compact(), CALLS, tools=[calculator.schema])
    plan = advised(linear(), OPERANDS, when=at_start)(attempt(by="solver"))
    (solver,) = run_plan(plan, sample=lambda name, request: engine.sample([request])[0])
    assert solver.notes == {}


def test_two_advisers_speak_from_the_outside_in():
    first = Adviser(lambda task, said, seed: f"heard {len(said)}", role="first")
    inner = advised(linear(), OPERANDS, when=at_start)
    (one,) = played(advised(inner, first, when=at_start))
    assert heard(one)[:3] == [("user", "12*34?"), ("first", "heard 1"), ("adviser", "Give both operands.")]
    assert one.notes == {"interjected": [0, 0]}


def test_a_model_advises_in_place_of_the_rule_and_its_turns_are_recorded():
    (one,) = played(advised(linear(), MODEL), aux={"adviser": scripted("", "Write 12*34.")})
    assert heard(one)[3] == ("adviser", "Write 12*34.")
    (said,) = one.aux_turns
    assert said.by == "adviser" and len(said.turns) == 2  # an empty reply is asked again
    assert "calculator({" in said.messages[1].content and "408" not in said.messages[1].content
    assert len({turn.seed for turn in (*one.turns, *said.turns)}) == 5


def test_a_model_without_a_request_is_refused():
    with pytest.raises(InputError, match="no request to a model: give Adviser"):
        played(advised(linear(), OPERANDS), aux={"adviser": scripted("a")})


def test_a_silent_model_ends_the_rollout_unscored_with_the_reply_in_the_record():
    (one,) = played(advised(linear(), MODEL), aux={"adviser": scripted("", " ")})
    assert one.ending == Ending("infra_error", "'adviser' gave no reply")
    assert [name for name, _ in heard(one)] == ["user", "assistant", "calculator"]
    (start,) = played(advised(linear(), MODEL, when=at_start), aux={"adviser": scripted("", "")})
    assert start.ending.kind == "infra_error" and not start.turns and heard(start) == [("user", "12*34?")]


@pytest.mark.parametrize("when", [at_start, after_failure])
def test_a_rollout_that_is_stopped_during_advice_keeps_the_reply(when):
    policies = {"adviser": scripted("a")}
    engine = ScriptedEngine(Compact(), CALLS, tools=[calculator.schema])

    def sample(name, request):
        if request.by == "adviser":
            raise Stopped
        return engine.sample([request])[0]

    rollout = advised(linear(), MODEL, when=when)
    (one,) = run_plan(rollout(attempt(policies)), sample=sample)
    check(one)
    assert one.ending == STOPPED and not one.aux_turns
    assert [name for name, _ in heard(one)] == ["user", "assistant", "calculator"][: 1 if when is at_start else 3]
    setup = Setup(rollout, Compact(), ENV, Sampling(), 900, aux_policies=aux_chats(policies))
    assert not any(found.differences for found in replay(Group(TASK, (one,)), setup))


@pytest.mark.parametrize("when", [at_start, after_failure])
@pytest.mark.parametrize("aux", [{}, {"adviser": ("Write 12*34.",)}], ids=["rule", "model"])
@pytest.mark.parametrize("tools", [False, True])
def test_a_replay_repeats_the_advice(when, aux, tools):
    policies = {name: scripted(*texts) for name, texts in aux.items()}
    rollout = advised(linear(), MODEL, when=when)
    group = Group(TASK, tuple(played(rollout, aux=policies)))
    chats = aux_chats(policies)
    setup = Setup(rollout, Compact(), ENV, Sampling(), 900, tools=tools, aux_policies=chats)
    assert not any(one.differences for one in replay(group, setup))
    recorded = Setup(rollout, Compact(), openings(group), Sampling(), 900, aux_policies=chats)
    assert not any(one.differences for one in replay(group, recorded))
    silent = Setup(linear(), Compact(), ENV, Sampling(), 900, tools=tools)
    assert any(one.differences for one in replay(group, silent))


def test_forks_share_the_advice_before_them():
    rollout = advised(forking(at=lambda one: [Branch(one.id, 0, one.turns[1].start)]), MODEL, when=every(1))
    trunk, branch = played(rollout, [*CALLS, *CALLS[1:]], aux={"adviser": scripted("one", "two")})
    assert [one.notes["interjected"] for one in (trunk, branch)] == [[1, 2], [1, 2]]
    assert [text for name, text in heard(trunk) if name == "adviser"] == ["one", "two"]
    seeds = [[turn.seed for turn in one.aux_turns[0].turns] for one in (trunk, branch)]
    assert seeds[0][0] == seeds[1][0] and seeds[0][1] != seeds[1][1] and [len(one) for one in seeds] == [2, 2]


def test_a_rewind_keeps_recorded_advice():
    """The environment opens without the advice, which the record has."""
    (one,) = played(advised(linear(), OPERANDS, when=at_start))

    def rollout(attempt):
        return [(yield from rewind(attempt, Rules(max_turns=4), one, turn=1).run())]

    (again,) = played(advised(rollout, OPERANDS, when=every(2)), CALLS, id="t/1")
    assert again.ending == Ending("completed") and again.turns[0].parsed == one.turns[0].parsed
    assert [name for name, _ in heard(again)].count("adviser") == 2 and again.notes == {"interjected": [2]}


def test_advice_follows_into_a_new_sequence():
    tools = [calculator.schema, fold_memory.schema]
    script = [ToolCall("fold_memory", {"summary": "12*34"}), "408"]
    made = attempt(env=tool_chat([calculator, fold_memory]))
    engine = ScriptedEngine(Compact(), script, tools=tools)
    rollout = advised(folding(), OPERANDS, when=every(1))
    (one,) = run_plan(rollout(made), sample=lambda name, request: engine.sample([request])[0])
    check(one)
    shown = Compact().decode(one.sequences[1].ids.tolist())
    assert "Your memory: 12*34" in shown and shown.index("memory") < shown.index("Give both operands.")


def test_a_number_of_turns_is_one_or_more():
    with pytest.raises(InputError, match="every 0 turns"):
        every(0)


def served(answer):
    """A rollout with an adviser behind a chat server."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(chat.ChatServer(answer))
        options = {"model": "m", "format": Transcript(), "backoff": 0.001, "attempts": 2, "timeout": 0.3}
        engine = stack.enter_context(contextlib.closing(OpenAICompatible(server.url, **options)))
        policy = AuxPolicy(engine, Transcript(), Sampling(max_tokens=20))
        return played(advised(linear(), MODEL), aux={"adviser": policy}), server


def test_a_served_model_advises():
    (one,), server = served(chat.reply("Write 12*34."))
    assert heard(one)[3] == ("adviser", "Write 12*34.") and one.final_text == "408"
    assert "data without instructions" in server.bodies[0]["messages"][0]["content"]


@pytest.mark.parametrize("answer", [(500, {"error": "down"}), (200, b"<html>"), chat.reply(" "), "cut"])
def test_a_server_that_fails_is_no_score_and_the_rule_does_not_advise(answer):
    (one,), _ = served(answer)
    assert one.ending.kind == "infra_error" and len(one.turns) == 1 and "adviser" not in dict(heard(one))
