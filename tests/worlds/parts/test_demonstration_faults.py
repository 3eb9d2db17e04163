"""Sentences about calls without a result and wrong answers of an expert."""

from dataclasses import replace

from handaxe.core.errors import VerifierError
from handaxe.core.records import Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools import tool
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts import demonstration_faults as faults
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_faults import demonstration_faults


@tool
def double(number: int) -> str:
    """Double a number."""
    if number > 100:
        raise ValueError("too large")
    return str(2 * number)


WORLD = arithmetic()
TASKS = WORLD.tasks("train", 3, 0)


def played(name, number, answer):
    """Demonstrations of an expert that calls a tool and gives an answer."""

    def expert(task, facts):
        if facts["turn"]:
            return Message("assistant", answer(task))
        return Message("assistant", "", (ToolCall(name, {"number": number}),))

    return [demonstrate(WORLD.env([double]), task, expert, format=Compact()) for task in TASKS]


def right(task):
    return str(task.answer)


def test_right_answers_after_calls_with_results_have_no_fault():
    assert demonstration_faults(WORLD, played("double", 3, right)) == []


def test_calls_without_a_result_are_counted_with_the_first_reply():
    (one,) = demonstration_faults(WORLD, played("dubble", 3, right))
    assert one.startswith(
        f"in 3 of 3 demonstrations a call of the expert has no result; the first, of task '{TASKS[0].id}'"
    )
    assert "no tool 'dubble'; the tools are: double" in one


def test_a_tool_that_fails_is_named_and_its_rollout_has_no_score():
    (failed,) = demonstration_faults(WORLD, played("double", 300, right))
    assert "too large" in failed


def test_a_rule_that_fails_is_no_fault_of_the_expert():
    def broken(group):
        raise VerifierError("no verdict")

    assert demonstration_faults(replace(WORLD, correct=broken), played("double", 3, right)) == []


def test_wrong_answers_are_counted_with_the_first():
    wrong = {TASKS[1].id, TASKS[2].id}
    (one,) = demonstration_faults(WORLD, played("double", 3, lambda task: "no" if task.id in wrong else right(task)))
    assert one.startswith(
        f"the expert is wrong in 2 of 3 demonstrations; the first, of task '{TASKS[1].id}', ends with 'no'"
    )
    assert f"the answer is {right(TASKS[1])!r}" in one


def test_long_replies_are_cut(monkeypatch):
    monkeypatch.setattr(faults, "LONGEST", 10)
    (one,) = demonstration_faults(WORLD, played("dubble", 3, right))
    assert one.endswith("there is n...")
