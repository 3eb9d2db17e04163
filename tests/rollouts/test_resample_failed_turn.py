"""Turns whose call failed, drawn anew: what is kept, who drew it, what the environment sees, and what it cost."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core import records
from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Author, Ending, Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, Completion, Partial, Stopped
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Rules
from handaxe.rollouts.resample_failed_turn import resample_failed_turn
from handaxe.testing.scripted_engine import encode_reply
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


SCHEMA = tool_chat([Shell])(Task("t", (Message("user", "go"),))).start()[1]
BAD, GOOD = ("so now ", "print(1+)"), ("so then ", "print(1+1)")


def attempt(*, context=800, tokens=64, env=Shell):
    task = Task("t", (Message("user", "go"),))
    return Attempt(task, tool_chat([env]), Compact(), Sampling(max_tokens=tokens), "t/0", 0, 5, context)


def ids_of(line):
    words = line if isinstance(line, str) else (line[0], ToolCall("run", {"code": line[1]}))
    return encode_reply(Compact(), words, SCHEMA)


class Script:
    """Says its lines one after the other. Of a turn that was begun, the rest of the line: it begins as the turn does.
    Each token has a log-prob that says in which request it was drawn, and where."""

    def __init__(self, *lines):
        self.lines, self.asked, self.drawn = list(lines), [], 0

    def __call__(self, name, request):
        begun, ids = request.prefix or Partial([], [], [], []), ids_of(self.lines.pop(0))
        assert ids[: len(begun.ids)] == begun.ids, "a line begins as what was kept"
        self.asked.append(request)
        ids = ids[: request.sampling.max_tokens]
        own = [-0.01 * (len(self.asked) + n / 100) for n in range(len(begun.ids), len(ids))]
        self.drawn += len(own)
        finish = "stop" if ids[-1] in request.stop else "length"
        made = (
            ids,
            [*begun.logp, *own],
            [*begun.behaviour_logp, *own],
            [*begun.version, *[len(self.asked)] * len(own)],
        )
        return Completion(*made, finish, seconds=0.5, cost=1.0)


def played(rollout, *lines, one=None):
    script = Script(*lines)
    (made,) = run_plan(rollout(one or attempt()), sample=script)
    records.check(made)
    return made, script


def test_a_failed_turn_is_resampled_after_the_kept_tokens():
    """The first three tokens of the thought are kept, four and the call are drawn again; all are the policy's."""
    made, script = played(resample_failed_turn(back=4), BAD, GOOD, "2")
    assert (
        Compact()
        .decode(made.sequences[0].ids)
        .endswith(
            "<USER>go<END><ASSISTANT>so then <CALL>run print(1+1)<CALL_END><END><TOOL>1: ok<END><ASSISTANT>2<END>"
        )
    )
    first, again, last = script.asked
    assert first.prefix is None and Compact().decode(again.prefix.ids) == "so " and last.prefix is None
    assert list(again.ids) == list(first.ids) and again.turn == first.turn == 0, "nothing of the failure is read"
    assert [one.seed for one in script.asked] == [derive_seed(5, 0), derive_seed(5, "redrawn", 0, 0), derive_seed(5, 1)]
    turn, sequence = made.turns[0], made.sequences[0]
    span = slice(turn.start, turn.stop)
    assert set(sequence.author[span].tolist()) == {Author.POLICY} and not sequence.forced.any()
    count = turn.stop - turn.start
    assert sequence.version[span].tolist() == [1] * 3 + [2] * (count - 3)
    expected = [-0.01 * ((1 if n < 3 else 2) + n / 100) for n in range(count)]
    np.testing.assert_allclose(sequence.logp[span], expected, rtol=1e-5)
    assert turn.seed == derive_seed(5, 0) and made.notes["redrawn"] == [{"turn": 0, "tries": 1, "kept": 3}]
    assert made.ending == Ending("completed")


def test_the_notes_hold_the_usage_of_turns_taken_back():
    made, script = played(resample_failed_turn(back=4), BAD, GOOD, "2")
    assert made.usage.tokens == script.drawn == len(ids_of(BAD)) + len(ids_of(GOOD)) - 3 + len(ids_of("2"))
    assert made.usage.calls == 2 and len(made.calls) == 1 and made.env["state"] == {"Shell": {"ran": ["print(1+1)"]}}
    assert made.usage.cost == 3.0 and made.cost == 2.0
    assert made.notes["put"] == {"0": [len(ids_of(BAD)) - 3, 1, made.notes["put"]["0"][2], 1.0]}
    clean, _ = played(linear(), GOOD, "2")
    assert made.messages == clean.messages and [t.seed for t in made.turns] == [t.seed for t in clean.turns]
    np.testing.assert_array_equal(made.sequences[0].ids, clean.sequences[0].ids)
    assert clean.total_usage is None


@pytest.mark.parametrize(("back", "kept"), [(0, "so now "), (3, "so n"), (7, ""), (100, "")])
def test_the_number_of_kept_tokens_depends_on_back(back, kept):
    again = (kept + "x", "print(1)")
    made, script = played(resample_failed_turn(back=back), BAD, again, "1")
    assert Compact().decode(script.asked[1].prefix.ids if script.asked[1].prefix else []) == kept
    assert made.notes["redrawn"] == [{"turn": 0, "tries": 1, "kept": len(kept)}] and made.usage.tokens == script.drawn


def test_every_resample_keeps_the_same_tokens_and_restores_the_environment():
    lines = [("", "print(0)"), BAD, ("so b", "y"), ("so c ", "z"), GOOD, "5"]
    made, script = played(resample_failed_turn(back=4), *lines)
    assert [Compact().decode(one.prefix.ids) for one in script.asked[2:5]] == ["so "] * 3
    assert made.env["state"] == {"Shell": {"ran": ["print(0)", "print(1+1)"]}} and made.env["replies"] == {"ok": 2}
    assert made.notes["redrawn"] == [{"turn": 1, "tries": 3, "kept": 3}]
    assert made.usage.tokens == script.drawn and made.usage.calls == 5
    total = made.notes["put"]["1"]
    assert total[:2] == [made.usage.tokens - made.num_tokens, 3]


def test_the_last_resample_stays_if_all_fail():
    made, script = played(resample_failed_turn(back=4, retries=2), BAD, ("so b", "y"), ("so c", "z"), "never")
    assert [turn.parsed.text for turn in made.turns] == ["so c", "never"] and made.replies[0].status == "retry"
    assert made.ending == Ending("completed") and made.usage.calls == 3 and made.usage.tokens == script.drawn
    assert made.notes["redrawn"] == [{"turn": 0, "tries": 2, "kept": 3}]


def test_zero_retries_equal_linear():
    class Stuck(Shell):
        snapshot = None

    lines = [BAD, GOOD, "2"]
    none, _ = played(resample_failed_turn(retries=0), *lines, one=attempt(env=Stuck))
    plain, _ = played(linear(), *lines)
    assert none.messages == plain.messages and not none.notes and none.total_usage is None
    with pytest.raises(InputError, match="cannot be forked"):
        played(resample_failed_turn(), "1", one=attempt(env=Stuck))


def test_later_failed_turns_are_resampled_too():
    made, _ = played(resample_failed_turn(back=4, max_turns=5), BAD, GOOD, ("", "a"), ("", "print(2)"), "2")
    assert made.notes["redrawn"] == [{"turn": 0, "tries": 1, "kept": 3}, {"turn": 1, "tries": 1, "kept": 0}]
    assert [reply.content for reply in made.replies] == ["1: ok", "2: ok"]


def test_a_resample_without_a_call_is_an_answer():
    made, _ = played(resample_failed_turn(back=4), BAD, "so 2")
    assert made.ending == Ending("completed") and made.final_text == "so 2" and not made.replies


def test_a_truncated_resample_counts_as_failed():
    long = ("so " + "x" * 80, "print(1)")
    made, script = played(resample_failed_turn(back=4), BAD, long, GOOD, "2")
    assert made.ending == Ending("completed") and made.notes["redrawn"][0]["tries"] == 2
    made, script = played(resample_failed_turn(back=4, retries=1), BAD, long)
    assert made.ending == Ending("truncated", "length") and made.usage.tokens == script.drawn


def test_a_failed_call_in_the_last_turn_stays():
    made, _ = played(resample_failed_turn(max_turns=1), BAD)
    assert made.ending == Ending("truncated", "turns") and not made.notes


def test_budgets_count_every_resample():
    spent = len(ids_of(BAD)) + len(ids_of(GOOD)) - 3 + len(ids_of("2"))
    enough, _ = played(resample_failed_turn(back=4, max_turns=Rules(budget=Budget(tokens=spent))), BAD, GOOD, "2")
    short, _ = played(resample_failed_turn(back=4, max_turns=Rules(budget=Budget(tokens=spent - 1))), BAD, GOOD, "2")
    assert enough.ending == Ending("completed") and short.ending == Ending("truncated", "budget")
    bound = Budget(tokens=len(ids_of(BAD)) + 2)
    cut, _ = played(resample_failed_turn(back=4, retries=1, max_turns=Rules(budget=bound)), BAD, GOOD)
    assert cut.ending == Ending("truncated", "budget") and cut.usage.tokens == len(ids_of(BAD)) + 2
    left, _ = played(resample_failed_turn(back=4, max_turns=Rules(budget=Budget(calls=1))), BAD, "2")
    assert "redrawn" not in left.notes and len(left.turns) == 2 and left.replies[0].status == "retry"


@pytest.mark.parametrize("wrong", [{"retries": -1}, {"back": -1}])
def test_resample_failed_turn_refuses_numbers_out_of_range(wrong):
    with pytest.raises(InputError, match="give 0 or more each"):
        resample_failed_turn(**wrong)


@given(st.data())
def test_resampled_trajectories_satisfy_the_record_invariants(data):
    words = st.sampled_from([("", "a"), ("", "print(1+)"), ("", "print(1+1)"), ("", "print(7)"), "", "so"])
    lines = data.draw(st.lists(words, min_size=40, max_size=40))
    stop = data.draw(st.integers(1, 12))
    script = Script(*lines)

    def speak(name, request):
        if len(script.asked) == stop:
            raise Stopped
        return script(name, request)

    calls, tokens = data.draw(st.sampled_from([None, 1, 4])), data.draw(st.sampled_from([None, 25, 70]))
    rules = Rules(max_turns=data.draw(st.integers(1, 6)), budget=Budget(tokens=tokens, calls=calls))
    retries, back = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    rollout = resample_failed_turn(max_turns=rules, retries=retries, back=back)
    one = attempt(context=data.draw(st.integers(60, 300)), tokens=data.draw(st.sampled_from([12, 64])))
    (made,) = run_plan(rollout(one), sample=speak)
    records.check(made)
    assert made.usage.tokens == script.drawn, "every sampled token is counted once"
    assert tokens is None or script.drawn <= tokens
    assert sum(map(len, made.env["state"]["Shell"].values())) == len(made.replies), (
        "the environment saw what is recorded"
    )
