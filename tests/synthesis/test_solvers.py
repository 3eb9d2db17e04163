import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.solvers import SolverAnswers, asked_solver, rollout_solver, rule_solver
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
DRAFT = task_draft(Task("x", (Message("user", "12*34=?"),), "408"))
HERE = SynthesisContext(seed=0)


def test_a_rule_answers_once_and_the_world_judges():
    for text, correct in (("408", True), ("400", False), ("", False)):
        solver = rule_solver(WORLD, lambda task: text, name="fixed")
        assert solver.answer([DRAFT], HERE) == [SolverAnswers((text,), (correct,))]


def test_a_model_answers_as_often_as_samples_and_a_failed_question_is_no_answer():
    desk = scripted_desk(" 408", "Four  Hundred", "!refused", "408")
    (found,) = asked_solver(WORLD, desk, samples=4).answer([DRAFT], HERE)
    assert (found.texts, found.correct) == (("408", "four hundred", "408"), (True, False, True))
    assert [call["failure"] for call in found.asked] == ["", "", "refused", ""]
    samples = [ask.sample for ask in desk.answerer.asks]
    assert len(set(samples)) == 4 and all("12*34=?" in ask.fields["question"] for ask in desk.answerer.asks)


def test_rollouts_answer_with_their_last_turn():
    tasks = [task_draft(one) for one in WORLD.tasks("train", 3, 0)]
    solver = rollout_solver(DraftRollouts(WORLD, WORLD.env(WORLD.tools), samples=2))
    found = solver.answer(tasks, HERE)
    assert [len(one.texts) for one in found] == [2, 2, 2]
    for draft, one in zip(tasks, found, strict=True):
        assert one.correct == tuple(text == draft.payload["answer"] for text in one.texts)


def test_samples_below_one_are_an_error():
    with pytest.raises(InputError, match="samples is 0"):
        asked_solver(WORLD, scripted_desk("1"), samples=0)
