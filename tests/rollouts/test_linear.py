from dataclasses import replace

import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Author, Ending, Message, ParsedTurn, Sampling, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Rendered, Sample
from handaxe.models.chat_formats.compact import ASSISTANT, END, USER, Compact
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear

DOUBLE = ToolSchema("double", "Doubles.", {"type": "object", "properties": {"x": {"type": "string"}}})


class DoublingEnv:
    """Answers a call with twice its number; says goodbye to a turn without one."""

    def __init__(self, task):
        self.task, self.closed = task, 0

    def start(self):
        return self.task.messages, (DOUBLE,)

    def step(self, turn, *, seed):
        if not turn.calls:
            return EnvReply(done=True)
        call = turn.calls[0]
        text = str(2 * int(call.arguments["x"]))
        return EnvReply((Message("tool", text, call_id=call.id),), (ToolReply(call.id, call.name, text),))

    def report(self):
        return {"closed": self.closed}

    def snapshot(self):
        return None

    def restore(self, state):
        del state

    def close(self):
        self.closed += 1


def attempt(env=DoublingEnv, format=None, context=1000, max_tokens=64):
    task = Task("t", (Message("user", "2*21?"),))
    return Attempt(task, env, format or Compact(), Sampling(max_tokens=max_tokens), "t/0", 0, 5, context)


def said(ids, finish="stop", logp=-0.5):
    n = len(ids)
    return Completion(list(ids), [logp] * n, [logp] * n, [3] * n, finish)


def play(words, plan):
    """Drive a plan with a list, no engine and no I/O; returns the trajectory and the requests besides Work."""
    requests, words = [], list(words)

    def speak(name, request):
        requests.append(request)
        return words.pop(0)

    def act(name, request):
        requests.append(request)
        return request.env.step(request.turn, seed=request.seed)

    (trajectory,) = run_plan(plan, sample=speak, act=act)
    records.check(trajectory)
    return trajectory, requests


CALL = Compact().encode_turn(Message("assistant", "", (ToolCall("double", {"x": "21"}),)), [DOUBLE])


def test_linear_records_two_turns_token_for_token():
    """System double(x) / user 2*21? / call / tool 42 / answer, each token with its author."""
    trajectory, requests = play([said(CALL), said([*b"42", END])], linear()(attempt()))
    (sequence,) = trajectory.sequences
    assert Compact().decode(sequence.ids) == (
        "<SYSTEM>double(x)<END><USER>2*21?<END><ASSISTANT><CALL>double 21<CALL_END><END><TOOL>42<END><ASSISTANT>42<END>"
    )
    letters = "".join("tutp"[0] if a == Author.TEMPLATE else "?uTp"[a] for a in sequence.author)
    assert letters == "t" * 11 + "t" + "u" * 5 + "tt" + "p" * 12 + "t" + "TT" + "tt" + "ppp"
    assert trajectory.ending == Ending("completed")
    assert [c.id for c in trajectory.calls] == [r.call_id for r in trajectory.replies] == ["t0c0"]
    assert list(sequence.turn[sequence.mask]) == [0] * 12 + [1] * 3
    assert trajectory.num_tokens == 15 and trajectory.final_text == "42"
    assert np.all(sequence.logp[sequence.mask] == -0.5) and np.all(sequence.version[sequence.mask] == 3)
    assert [type(r) for r in requests] == [Sample, Act, Sample, Act]
    assert requests[2].ids == list(sequence.ids[:-3]), "the second request is the first, what was said, and the reply"
    assert requests[0].seed != requests[2].seed


@pytest.mark.parametrize("cut", range(1, len(CALL)))
def test_a_call_cut_by_the_length_limit_is_never_executed(cut):
    trajectory, requests = play([said(CALL[:cut], "length")], linear()(attempt()))
    assert trajectory.ending == Ending("truncated", "length")
    assert not any(isinstance(r, Act) for r in requests) and not trajectory.replies


def test_a_complete_call_cut_before_its_end_is_not_executed_either():
    trajectory, requests = play([said(CALL[:-1], "length")], linear()(attempt()))
    assert trajectory.calls and not any(isinstance(r, Act) for r in requests)


def test_a_header_of_another_speaker_ends_as_policy_error():
    trajectory, _ = play([said([*b"42", USER], "header")], linear()(attempt()))
    assert trajectory.ending.kind == "policy_error"
    assert list(trajectory.sequences[0].ids[-3:]) == [*b"42", USER] and trajectory.sequences[0].mask[-1]


def test_rollout_ends_at_max_turns():
    trajectory, _ = play([said(CALL), said(CALL)], linear(max_turns=2)(attempt()))
    assert trajectory.ending == Ending("truncated", "turns") and len(trajectory.turns) == 2


def test_token_budget_shrinks_requests_and_ends_the_rollout():
    plan = linear(budget=Budget(tokens=14))(attempt())
    trajectory, requests = play([said(CALL), said([*b"42"], "length")], plan)
    assert [r.sampling.max_tokens for r in requests if isinstance(r, Sample)] == [14, 2]
    assert trajectory.ending == Ending("truncated", "budget")


def test_context_bounds_a_sequence():
    opening = 20
    trajectory, requests = play([said(CALL[:4], "length")], linear()(attempt(context=opening + 3)))
    assert requests[0].sampling.max_tokens == 4 and trajectory.ending == Ending("truncated", "length")
    empty, requests = play([], linear()(attempt(context=5)))
    assert empty.turns == () and requests == [] and empty.ending == Ending("truncated", "length")


class Rewriting(Compact):
    """A format that, like some chat templates, shows later turns another history than was sampled."""

    def extend(self, history, new, last_ids, tools):
        opening = self.start([m for m in [*history, *new] if m.role != "assistant"], tools)
        return Rendered(opening.ids, opening.authors, fresh=True)


class Wordy(DoublingEnv):
    def step(self, turn, *, seed):
        (message,), replies, *rest = super().step(turn, seed=seed)
        return EnvReply((replace(message, content="x" * 500),), replies, *rest)


@pytest.mark.parametrize("format", [Compact(), Rewriting()], ids=["appended", "rewritten"])
def test_a_reply_beyond_the_context_is_recorded_and_ends_the_rollout(format):
    trajectory, requests = play([said(CALL)], linear()(attempt(env=Wordy, format=format, context=100)))
    assert trajectory.ending == Ending("truncated", "length") and [type(r) for r in requests] == [Sample, Act]
    (sequence,) = trajectory.sequences
    assert len(sequence) == 19 + len(CALL) and list(sequence.ids[sequence.mask]) == CALL
    assert trajectory.messages[-1].content == "x" * 500 and trajectory.replies[0].content == "42"


def test_limits_below_one_are_errors():
    with pytest.raises(InputError, match="give 1 or more"):
        linear(max_turns=0)
    with pytest.raises(InputError, match="sampling's max_tokens is 0"):
        play([], linear()(attempt(max_tokens=0)))


def test_a_rewritten_history_is_a_new_sequence():
    trajectory, requests = play([said(CALL), said([*b"42", END])], linear()(attempt(format=Rewriting())))
    first, second = trajectory.sequences
    assert list(first.ids[first.mask]) == CALL and list(second.ids[second.mask]) == [*b"42", END]
    assert [t.sequence for t in trajectory.turns] == [0, 1]
    assert requests[2].ids == list(second.ids[:-3]) and second.ids[-4] == ASSISTANT


def test_environment_is_closed_after_any_failure():
    made = []

    def env(task):
        made.append(DoublingEnv(task))
        return made[-1]

    plan = linear()(attempt(env=env))
    plan.send(next(plan).call())
    plan.close()
    assert made[0].closed == 1
    play([said([END])], linear()(attempt(env=env)))
    assert made[1].closed == 1


def test_policy_reads_its_own_tokens_back():
    parsed = Compact().parse(CALL, [DOUBLE])
    assert isinstance(parsed, ParsedTurn) and parsed.calls[0].arguments == {"x": "21"}
