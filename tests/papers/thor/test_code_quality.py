"""Calls that compute, and calls that state a value."""

import pytest

from handaxe.papers.thor.code_quality import code_quality, is_computation
from handaxe.synthesis.lesson import LessonTurn, lesson_draft
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic

DRAFT = task_draft(arithmetic().tasks("train", 1, 0)[0])


@pytest.mark.parametrize(
    ("code", "computes"),
    [
        ("57*83", True),
        ("gcd(12,18)", True),
        ("import math", True),
        ("for k in range(3):\n    print(k)", True),
        ("print([k for k in x])", True),
        ("print(57*83)", True),
        ("print(4731)", False),
        ("4731", False),
        ("57*", False),
        ("", False),
    ],
)
def test_operators_libraries_control_flow_and_functions_compute(code, computes):
    assert is_computation(code) is computes


def test_a_lesson_with_a_stated_value_is_dropped_and_a_failed_call_is_not_looked_at():
    good, bad = (
        lesson_draft(DRAFT, [LessonTurn("", "57*", "", True), LessonTurn("", code)]) for code in ("57*83", "4731")
    )
    outcomes = code_quality().run([good, bad], SynthesisContext(0))
    assert [one.reason for one in outcomes] == ["", "a call computes nothing"]
