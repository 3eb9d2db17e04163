"""Chains at their limit of turns lose redundant exchanges and go on, or end."""

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_star.chain_refiner import Exchange, pruned, refined_chain
from handaxe.rollouts.resample_failed_turn import resample_failed_turn
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = arithmetic(easy=0.0)
TASK = Task("t", (Message("user", "12*34=?"),), "408")


def called(expression):
    return Message("assistant", "", (ToolCall("calculator", {"expression": expression}),))


def play(*said, limit=2, **limits):
    said = [called(one) if "*" in one else Message("assistant", one) for one in said]
    rules = refined_chain(max_turns=limit, **limits)
    rollout = resample_failed_turn(retries=0, max_turns=rules)
    return demonstrate(
        WORLD.env(WORLD.tools), TASK, lambda task, facts: said[facts["turn"]], format=Compact(), rollout=rollout
    )


def test_a_failed_call_leaves_the_chain_and_the_answer_has_a_turn():
    one = play("12*", "12*34", "408")
    assert one.ending.kind == "completed" and len(one.turns) == 3 and one.notes["refined"] == [1]
    first, second = one.sequences
    assert [turn.sequence for turn in one.turns] == [0, 0, 1]
    clean = play("12*34", "408")
    assert list(second.ids) == list(clean.sequences[0].ids), "the policy reads the refined chain alone"
    assert len(first.ids) > len(second.ids)


def test_the_reply_of_the_environment_joins_the_conversation_once():
    one = play("12*", "12*34", "408")
    assert [message.role for message in one.messages] == ["user", *["assistant", "tool"] * 2, "assistant"]


def test_a_chain_without_a_redundant_exchange_ends_at_the_limit():
    one = play("12*34", "12*35", "408")
    assert (one.ending.kind, one.ending.reason, len(one.turns)) == ("truncated", "turns", 2)
    assert "refined" not in one.notes


def test_refinements_are_limited():
    one = play("12*", "12*34", "12*", "13*", "408", refinements=1)
    assert (one.ending.kind, len(one.turns), one.notes["refined"]) == ("truncated", 3, [1])
    one = play("12*", "12*34", "12*", "408", refinements=2)
    assert (one.ending.kind, len(one.turns), one.notes["refined"]) == ("completed", 4, [1, 1])


def test_a_turn_after_a_refinement_can_be_resampled():
    """After the refinement "9*" fails, is taken back once and fails again; the chain is refined a second time."""
    rules = refined_chain(max_turns=2)
    said = {0: "12*", 1: "12*34", 2: "9*", 3: "408"}
    rollout = resample_failed_turn(retries=1, back=0, max_turns=rules)
    one = demonstrate(
        WORLD.env(WORLD.tools),
        TASK,
        lambda task, facts: called(text) if "*" in (text := said[facts["turn"]]) else Message("assistant", text),
        format=Compact(),
        rollout=rollout,
    )
    assert one.ending.kind == "completed" and one.notes["refined"] == [1, 1]
    assert [entry["turn"] for entry in one.notes["redrawn"]] == [0, 2]
    assert one.turns[-1].parsed.text == "408"


def test_pruned_by_hand():
    def exchange(name, *statuses):
        calls = (ToolCall(name, {"x": 1}),) if name else ()
        return Exchange(Message("assistant", "", calls), (), statuses)

    chain = [exchange("a", "failed"), exchange("b", "ok"), exchange("c", "ok"), exchange("b", "ok"), exchange("")]
    assert pruned(chain) == [chain[1], chain[2]]


def test_wrong_input():
    with pytest.raises(InputError, match="refinements 0"):
        refined_chain(max_turns=2, refinements=0)
    with pytest.raises(InputError, match="max_turns is 0"):
        refined_chain(max_turns=0)
