"""Failed calls replaced by corrected ones: by an oracle, by a model, and none."""

import pytest
from helpers.desks import scripted_desk

from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.validation import check
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.papers.tool_star.code_debugger import asked_debugger, debugged, reference_debugger
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls

WORLD = arithmetic(easy=0.0)
GOLD = [{"name": "calculator", "arguments": {"expression": "12*34"}}]
TASK = Task("t", (Message("user", "12*34=?"),), "408", None, {"gold_calls": GOLD})


def call(expression, id="c"):
    return ToolCall("calculator", {"expression": expression}, id)


def step(debug, *calls, task=TASK):
    env = debugged(WORLD.env(WORLD.tools), debug)(task)
    env.start()
    reply = env.step(ParsedTurn("", calls), seed=0)
    return [(one.call_id, one.status, one.content) for one in reply.replies], env


def test_by_hand_a_failed_call_returns_the_result_of_the_reference_call():
    replies, env = step(reference_debugger(reference_calls), call("12*"))
    assert replies == [("c", "ok", "408")] and env.report()["debugged"] == 1
    replies, env = step(reference_debugger(reference_calls), call("12*35"))
    assert replies == [("c", "ok", "420")] and env.report()["debugged"] == 0, "a call that runs stays"


def test_calls_without_a_correction_keep_the_first_error():
    for debug in (lambda *_: None, lambda task, failed, error: failed, lambda *_: call("13*")):
        ((_, status, text),), env = step(debug, call("12*"))
        assert status == "retry" and "12*" in text and env.report()["debugged"] == 0


def test_turns_with_two_calls_are_not_debugged():
    replies, _ = step(reference_debugger(reference_calls), call("12*", "a"), call("1+", "b"))
    assert [status for _, status, _ in replies] == ["retry", "retry"]


def test_a_model_reads_question_call_and_error():
    desk = scripted_desk('{"code": "12*34"}', "no")
    replies, _ = step(asked_debugger(desk), call("12*"))
    assert replies == [("c", "ok", "408")]
    (ask,) = desk.answerer.asks
    assert (ask.fields["question"], ask.fields["code"], ask.fields["tool"]) == (
        "12*34=?", "12*", "calculator(expression)",
    )  # fmt: skip
    (record,) = desk.take_calls()
    assert (record.role, record.value) == ("corrector", "12*34"), "the record of the judge has the question"
    replies, _ = step(asked_debugger(scripted_desk("no")), call("12*"))
    assert replies[0][1] == "retry"
    two = ToolCall("calculator", {"a": "1", "b": "2"})
    assert asked_debugger(desk)(TASK, two, "wrong") is None


def test_the_number_of_replaced_calls_is_part_of_a_snapshot():
    _, env = step(reference_debugger(reference_calls), call("12*"))
    state = env.snapshot()
    env.step(ParsedTurn("", (call("12*", "d"),)), seed=0)
    assert env.report()["debugged"] == 2
    env.restore(state)
    assert env.report()["debugged"] == 1


@pytest.mark.parametrize("expression", ["12*", "12*34"])
def test_a_rollout_keeps_the_policy_s_call(expression):
    env = debugged(WORLD.env(WORLD.tools), reference_debugger(reference_calls))
    said = [Message("assistant", "", (call(expression),)), Message("assistant", "408")]
    one = demonstrate(env, TASK, lambda task, facts: said[facts["turn"]], format=Transcript())
    check(one)
    assert one.calls[0].arguments == {"expression": expression} and one.replies[0].content == "408"
