"""Samples of self-correction: planted and own failures, by the rule and by a model."""

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.papers.agentmath.self_corrections import cut_code, self_corrections
from handaxe.synthesis.lesson import CALCULATOR, LessonTurn, lesson_draft, lesson_turns_of
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.execute_calls import execute_calls
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)
TASKS = WORLD.tasks("train", 40, 0)
CALL = LessonTurn("so", "12*34", "408")
BROKEN = LessonTurn("so", "12*", "408")


def run(*turns, share=1.0, desk=None, tasks=TASKS[:1]):
    step = self_corrections(ENV, CALCULATOR, share=share, desk=desk)
    return step.run([lesson_draft(task_draft(one), turns) for one in tasks], SynthesisContext(0))


def turns(outcome):
    return lesson_turns_of(draft_task(outcome.kept[0]))


@pytest.mark.parametrize(
    ("code", "cut"), [("12*34", "12*"), ("print(12*34)", "print(12*"), ("1+2.5", "1+"), ("x", ""), ("", "")]
)
def test_code_is_cut_before_its_last_number(code, cut):
    assert cut_code(code) == cut


def test_by_hand_a_failed_call_comes_before_its_correction():
    (outcome,) = run(CALL)
    assert turns(outcome) == [LessonTurn("so", "12*", "", True), LessonTurn("", "12*34", "408")]
    (executed,) = execute_calls(ENV, CALCULATOR).run(list(outcome.kept), SynthesisContext(0))
    assert executed.kept[0].notes == {"calls": 2, "failed": 1}


def test_the_share_of_planted_failures_is_drawn_by_lesson():
    planted = [len(turns(one)) - 1 for one in run(CALL, share=0.25, tasks=TASKS)]
    assert 4 <= sum(planted) <= 18 and planted == [len(turns(one)) - 1 for one in run(CALL, share=0.25, tasks=TASKS)]
    assert all(turns(one) == [CALL] for one in run(CALL, share=0.0, tasks=TASKS))


def test_one_call_of_several_fails():
    (outcome,) = run(CALL, LessonTurn("and", "408+12", "420"))
    assert len(turns(outcome)) == 3 and [one.fails for one in turns(outcome)].count(True) == 1


def test_a_call_that_cannot_be_cut_is_not_planted():
    (outcome,) = run(LessonTurn("so", "12", "12"))
    assert [one.fails for one in turns(outcome)] == [False]


def test_the_rule_cannot_correct_a_call_that_fails_by_itself():
    assert [one.reason for one in run(BROKEN)] == ["a call failed"]


def test_a_model_reads_the_error_and_its_correction_is_executed():
    desk = scripted_desk('{"code": "12*34"}')
    (outcome,) = run(BROKEN, desk=desk)
    assert turns(outcome) == [LessonTurn("so", "12*", "", True), LessonTurn("", "12*34", "408")] and outcome.asked
    assert "cannot read" in desk.answerer.asks[0].fields["error"]
    (outcome,) = run(BROKEN, desk=scripted_desk('{"code": "12*35"}'))
    (executed,) = execute_calls(ENV, CALCULATOR).run(list(outcome.kept), SynthesisContext(0))
    assert executed.reason == "a reply contradicts the text"


def test_a_model_without_a_correction_drops_the_lesson():
    (outcome,) = run(CALL, desk=scripted_desk("no"))
    assert outcome.reason == "no correction: unreadable" and outcome.asked


def test_wrong_input():
    with pytest.raises(InputError, match="share is 1.5"):
        run(CALL, share=1.5)
