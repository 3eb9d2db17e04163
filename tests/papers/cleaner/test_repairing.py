"""Failed calls that are taken back: what stands in their place, who drew it, and what they cost."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core import records
from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Author, Ending, Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, Stopped
from handaxe.core.usage import Usage
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.papers.cleaner.repairing import code_similarity, repairing
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Rules
from handaxe.testing.make_records import make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools import tool


class Shell:
    """Runs print(...) of a sum, and counts every call that it gets."""

    def __init__(self):
        self.ran = []

    @tool(timeout=None)
    def run(self, code: str) -> str:
        """Run code."""
        self.ran.append(code)
        if not code.startswith("print(") or "+)" in code:
            raise Retry("a syntax error")
        return f"{len(self.ran)}: ok"

    def snapshot(self):
        return copy.deepcopy(self.ran)

    def restore(self, state):
        self.ran = copy.deepcopy(state)

    def report(self):
        return {"ran": list(self.ran)}


SCHEMA = tool_chat([Shell])(Task("t", (Message("user", "?"),))).start()[1]


def attempt(*, context=800, tokens=64):
    task = Task("t", (Message("user", "go"),))
    return Attempt(task, tool_chat([Shell]), Compact(), Sampling(max_tokens=tokens), "t/0", 0, 5, context)


def say(code, thought=""):
    return (thought, ToolCall("run", {"code": code}))


class Script:
    """Says its lines one after the other, however often it is put back, each token with a log-prob of its own."""

    def __init__(self, *lines):
        self.lines, self.asked = list(lines), []

    def __call__(self, name, request):
        engine = ScriptedEngine(Compact(), lambda text, turn: self.lines.pop(0), tools=SCHEMA)
        (made,) = engine.sample([request])
        self.asked.append(request)
        logp = [-0.01 * (len(self.asked) + n / 100) for n in range(len(made.ids))]
        return made._replace(logp=logp, behaviour_logp=logp, version=[3] * len(made.ids), seconds=0.5, cost=1.0)


def played(rollout, *lines, one=None):
    script = Script(*lines)
    (made,) = run_plan(rollout(one or attempt()), sample=script)
    records.check(made)
    return made, script


def authors(made, k):
    turn = made.turns[k]
    return made.sequences[turn.sequence].author[turn.start : turn.stop].tolist()


def test_repairing_matches_its_examples():
    def turn(code):
        return make_trajectory(texts=[""], calls=[[ToolCall("run", {"code": code})]]).turns[0]

    assert (
        code_similarity(turn("print(1+)"), turn("print(1+1)"))
        == pytest.approx(18 / 19)
        == pytest.approx(0.947, abs=5e-4)
    )
    assert code_similarity(turn("foo()"), turn("print(3*4)")) == pytest.approx(4 / 15) == pytest.approx(0.267, abs=5e-4)


def test_a_shallow_repair_keeps_the_thought_and_takes_the_call():
    made, script = played(repairing(), say("print(1+)", "hm "), say("print(1+1)", "oh "), "2")
    text = Compact().decode(made.sequences[0].ids)
    assert text.endswith(
        "<USER>go<END><ASSISTANT>hm <CALL>run print(1+1)<CALL_END><END><TOOL>1: ok<END><ASSISTANT>2<END>"
    )
    assert made.ending == Ending("completed") and len(made.turns) == 2 and made.turns[0].parsed.text == "hm "
    assert authors(made, 0) == [Author.POLICY] * 3 + [Author.FORCED] * (len(authors(made, 0)) - 3)
    turn, sequence = made.turns[0], made.sequences[0]
    first, second = script.asked[0], script.asked[1]
    np.testing.assert_allclose(sequence.logp[turn.start : turn.start + 3], [-0.01, -0.0101, -0.0102], rtol=1e-5)
    assert (
        not sequence.logp[turn.start + 3 : turn.stop].any()
        and (sequence.version[turn.start + 3 : turn.stop] == -1).all()
    )
    drawn = sequence.behaviour_logp[turn.start + 3 : turn.stop]
    np.testing.assert_allclose(drawn, [-0.01 * (2 + n / 100) for n in range(3, 3 + len(drawn))], rtol=1e-5)
    assert second.seed == derive_seed(5, "retry", 0, 0) and turn.seed == first.seed == derive_seed(5, 0)
    assert made.notes["repaired"] == [{"turn": 0, "retries": 1, "similarity": pytest.approx(18 / 19), "shallow": True}]
    tokens, calls, _, cost = made.notes["put"]["0"]
    assert (tokens, calls, cost) == (made.total_usage.tokens - made.num_tokens, 2, 2.0)


def test_a_deep_repair_replaces_the_whole_turn():
    made, _ = played(repairing(), say("foo()", "hm "), say("print(3*4)", "oh "), "12")
    assert made.turns[0].parsed.text == "oh " and set(authors(made, 0)) == {Author.FORCED}
    assert not made.notes["repaired"][0]["shallow"] and authors(made, 1) == [Author.POLICY] * 3
    text = Compact().decode(made.sequences[0].ids)
    assert "foo" not in text and "hm" not in text and "syntax" not in text


@pytest.mark.parametrize("similarity, shallow", [(0.0, True), (0.26, True), (0.27, False), (1.1, False)])
def test_a_similarity_of_at_least_gamma_is_shallow(similarity, shallow):
    made, _ = played(repairing(similarity=similarity), say("foo()", "hm "), say("print(3*4)", "oh "), "12")
    assert made.notes["repaired"][0]["shallow"] == shallow


def test_the_environment_is_restored_as_without_a_failure():
    """The shell counts calls: the repaired one is its first, and what follows goes on from there."""
    lines = [say("print(0)"), say("x"), say("y"), say("print(3*4)"), say("print(5)"), "5"]
    made, _ = played(repairing(max_turns=6), *lines)
    assert made.env["state"] == {"Shell": {"ran": ["print(0)", "print(3*4)", "print(5)"]}}
    assert [reply.content for reply in made.replies] == ["1: ok", "2: ok", "3: ok"]
    assert made.env["replies"] == {"ok": 3} and made.notes["repaired"][0]["retries"] == 2
    clean, _ = played(linear(max_turns=6), say("print(0)"), say("print(3*4)"), say("print(5)"), "5")
    assert made.messages == clean.messages and [t.seed for t in made.turns] == [t.seed for t in clean.turns]
    np.testing.assert_array_equal(made.sequences[0].ids, clean.sequences[0].ids)


def test_removed_turns_are_counted_in_the_notes():
    made, script = played(repairing(), say("print(1+)", "hm "), say("print(1+1)"), "2")
    sampled = sum(
        len(Script(line)("", request).ids)
        for line, request in zip([say("print(1+)", "hm "), say("print(1+1)"), "2"], script.asked)
    )
    assert made.total_usage.tokens == sampled > made.num_tokens
    assert made.total_usage.calls == 3 and len(made.calls) == 1, "failed, worked, and carried out once more"
    assert made.total_usage.cost == 3.0 and made.cost == 1.0 and made.total_usage.seconds >= 1.5
    assert made.usage == made.total_usage
    clean, _ = played(repairing(), say("print(1)"), "1")
    assert clean.total_usage is None and clean.usage == Usage(clean.num_tokens, 1, clean.seconds, 2.0)


def test_a_failure_without_a_successful_retry_stays():
    lines = [say("a"), say("b"), say("c"), "never"]
    made, script = played(repairing(retries=2), *lines)
    plain, _ = played(linear(), *lines)
    assert made.total_usage is None and made.messages == plain.messages and not made.notes
    seeds = [derive_seed(5, 0), derive_seed(5, "retry", 0, 0), derive_seed(5, "retry", 0, 1), derive_seed(5, 3)]
    assert [request.seed for request in script.asked] == seeds == [turn.seed for turn in made.turns]
    none, _ = played(repairing(retries=0), say("a"), say("print(1)"), "1")
    assert len(none.turns) == 3 and not none.notes


def test_an_answer_without_a_call_is_no_correction():
    made, _ = played(repairing(), say("a"), "give up")
    assert made.ending == Ending("completed") and len(made.turns) == 2 and made.replies[0].status == "retry"


def test_a_malformed_call_is_replaced_whole():
    made, _ = played(
        repairing(similarity=0.0), "oops <CALL", say("print(1)"), "1"
    )  # bytes: a text, which is no failure
    assert made.ending == Ending("completed") and len(made.turns) == 1

    def speak(name, request):
        ids = [*b"so ", 262, *b"run x", 261] if len(asked) == 0 else None  # CALL that is not closed
        asked.append(request)
        return (
            script(name, request)
            if ids is None
            else script(name, request)._replace(
                ids=ids, logp=[-0.5] * len(ids), behaviour_logp=[-0.5] * len(ids), version=[3] * len(ids)
            )
        )

    asked, script = [], Script("", say("print(1)"), "1")
    (made,) = run_plan(repairing(similarity=0.0)(attempt()), sample=speak)
    records.check(made)
    assert set(authors(made, 0)) == {Author.FORCED} and not made.notes["repaired"][0]["shallow"]


def test_a_retry_in_the_last_turn_frees_turns():
    made, _ = played(repairing(max_turns=2), say("a"), say("print(1)"), "1")
    assert made.ending == Ending("completed") and made.final_text == "1" and len(made.turns) == 2


def test_budgets_count_removed_turns():
    made, _ = played(repairing(max_turns=Rules(budget=Budget(calls=2))), say("print(1+)"), say("print(1+1)"), "2")
    assert made.ending == Ending("completed") and "repaired" not in made.notes, "no call is left to carry it out again"
    assert len(made.turns) == 3 and made.total_usage is None
    made, _ = played(repairing(max_turns=Rules(budget=Budget(calls=3))), say("print(1+)"), say("print(1+1)"), "2")
    assert made.ending == Ending("completed")
    sampled = made.total_usage.tokens
    enough, _ = played(
        repairing(max_turns=Rules(budget=Budget(tokens=sampled))), say("print(1+)"), say("print(1+1)"), "2"
    )
    short, _ = played(
        repairing(max_turns=Rules(budget=Budget(tokens=sampled - 1))), say("print(1+)"), say("print(1+1)"), "2"
    )
    assert enough.ending.kind == "completed" and short.ending == Ending("truncated", "budget")


def test_a_graft_longer_than_a_turn_is_replaced_whole():
    thought = "x" * 30
    long = attempt(
        tokens=len(
            Compact().encode_turn(Message("assistant", thought, (ToolCall("run", {"code": "print(1+)"}),)), SCHEMA)
        )
    )
    made, _ = played(repairing(), say("print(1+)", thought), say("print(1+1)"), "2", one=long)
    assert not made.notes["repaired"][0]["shallow"] and thought not in made.turns[0].parsed.text


def test_an_environment_without_snapshots_is_rejected():
    with pytest.raises(InputError, match="retries is -1"):
        repairing(retries=-1)

    class Stuck(Shell):
        snapshot = None

    one = attempt()
    stuck = Attempt(one.task, tool_chat([Stuck]), one.format, one.sampling, one.id, 0, 5, 800)
    with pytest.raises(InputError, match="cannot be forked"):
        run_plan(repairing()(stuck), sample=Script("1"))


@given(st.data())
def test_records_keep_their_invariants_for_random_rollouts(data):
    words = st.sampled_from([say("a"), say("print(1+)", "hm "), say("print(1+1)"), say("print(7)", "yes "), "", "so"])
    lines = data.draw(st.lists(words, min_size=30, max_size=30))
    stop = data.draw(st.integers(1, 12))
    script = Script(*lines)

    def speak(name, request):
        if len(script.asked) == stop:
            raise Stopped
        return script(name, request)

    calls, tokens = data.draw(st.sampled_from([None, 1, 4])), data.draw(st.sampled_from([None, 25, 70]))
    rules = Rules(max_turns=data.draw(st.integers(1, 6)), budget=Budget(tokens=tokens, calls=calls))
    retries, similarity = data.draw(st.integers(0, 3)), data.draw(st.sampled_from([0.0, 0.5, 1.1]))
    rollout = repairing(max_turns=rules, retries=retries, similarity=similarity)
    (made,) = run_plan(
        rollout(attempt(context=data.draw(st.integers(60, 300)), tokens=data.draw(st.sampled_from([12, 64])))),
        sample=speak,
    )
    records.check(made)
    sampled = sum(
        min(len(Script(line)("", request).ids), request.sampling.max_tokens)
        for line, request in zip(lines, script.asked)
    )
    assert made.usage.tokens == sampled, "every sampled token is counted once"
    assert sum(map(len, made.env["state"]["Shell"].values())) == len(made.replies), (
        "the environment saw what is recorded"
    )
