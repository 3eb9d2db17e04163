"""A play that goes on after a trajectory: the ids of one conversation, never encoded again."""

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver import run
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.continue_trajectory import continue_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator

ASKED = Task("t", (Message("user", "12*34=?"),))
SCRIPT = [ToolCall("calculator", {"expression": "12*34"}), "408", ToolCall("calculator", {"expression": "1+1"}), "2"]


def attempt(tokens=32):
    return Attempt(
        task=ASKED, env=tool_chat([calculator]), format=Compact(), sampling=Sampling(max_tokens=tokens), id="t",
        sample=0, seed=3, context=400,
    )  # fmt: skip


def played(play, script=SCRIPT):
    engine = ScriptedEngine(Compact(), script, tools=[calculator.schema])
    ((trajectory,),) = run([play.attempt], lambda _: play.plan(), engine, workers=1)
    check(trajectory)
    return trajectory


def test_continuation_extends_the_recorded_sequence():
    first = played(Play(attempt(), Rules()))
    more = played(continue_trajectory(first, [Message("user", "1+1=?")], attempt(), Rules(max_turns=6)))
    (before,), (after,) = first.sequences, more.sequences
    for name in ("ids", "author", "turn", "logp", "version"):
        assert np.array_equal(getattr(after, name)[: len(before)], getattr(before, name))
    text = Compact().decode(after.ids[len(before) :])
    assert text.startswith("<USER>1+1=?<END><ASSISTANT><CALL>calculator 1+1<CALL_END><END><TOOL>2<END>")
    assert [turn.parsed.text for turn in more.turns] == ["", "408", "", "2"] and more.ending.kind == "completed"
    assert more.messages[: len(first.messages)] == first.messages and more.branch_of is None
    assert after.author[len(before)] == Author.TEMPLATE and after.author[len(before) + 1] == Author.USER


def test_an_unanswered_turn_is_rendered_with_the_next_message():
    """The reply to a turn that was the last one allowed."""
    first = played(Play(attempt(), Rules(max_turns=1)))
    assert first.ending.reason == "turns" and first.messages[-1].role == "tool"
    more = played(continue_trajectory(first, [Message("user", "so?")], attempt(), Rules(max_turns=2)))
    assert "<TOOL>408<END><USER>so?<END><ASSISTANT>408<END>" in Compact().decode(more.sequences[0].ids)


def test_a_cut_turn_is_closed_by_the_format():
    first = played(Play(attempt(tokens=2), Rules()), script=["a long answer"])
    assert first.ending.reason == "length"
    more = played(
        continue_trajectory(first, [Message("user", "and?")], attempt(), Rules(max_turns=4)), script=["", "yes"]
    )
    assert "<ASSISTANT>a <END><USER>and?<END><ASSISTANT>yes<END>" in Compact().decode(more.sequences[0].ids)


def test_recorded_turns_count_towards_max_turns():
    first = played(Play(attempt(), Rules()))
    more = played(continue_trajectory(first, [Message("user", "1+1=?")], attempt(), Rules(max_turns=2)))
    assert more.ending.reason == "turns" and len(more.turns) == 2


def test_a_continuation_beyond_the_context_ends_before_sampling():
    first = played(Play(attempt(), Rules()))
    more = played(continue_trajectory(first, [Message("user", "x" * 500)], attempt(), Rules(max_turns=4)))
    assert more.ending.reason == "length" and len(more.turns) == len(first.turns)


def test_a_trajectory_without_turns_is_an_error():
    first = played(continue_trajectory(played(Play(attempt(), Rules())), [], attempt(), Rules(max_turns=2)))
    empty = type(first)(**{**vars(first), "turns": ()})
    with pytest.raises(InputError, match="nothing to go on after"):
        continue_trajectory(empty, [], attempt(), Rules())
