"""Obscured questions: what hides a name, uniqueness by rule and by votes, and answers of a scripted model."""

import json

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis.solvers import Solver, SolverAnswers
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.obscure import obscure
from handaxe.synthesis.task_drafts import draft_text, task_draft
from handaxe.worlds.library.obscured import ObscuredTask

HERE = SynthesisContext(seed=0, workers=1)
PLAIN = Task(
    "", (Message("user", "What is the river of kemi?"),), "luta", None, {"gold_calls": [{"name": "a", "arguments": {}}]}
)
DESCRIPTION = "the town whose mayor is tolven"
DRAFT = task_draft(PLAIN)


def rule(text):
    made = Task("", (Message("user", text),), "luta", None, {"gold_calls": [{"name": "b", "arguments": {}}]})
    return lambda task: ObscuredTask(made, ("kemi", "dorum"), DESCRIPTION)


def outcome(text, *, unique=True, **options):
    (one,) = obscure(rule(text), unique=lambda task: unique, name="fixed", **options).run([DRAFT], HERE)
    return one


GOOD = f"What is the river of {DESCRIPTION}?"


def test_a_rule_hides_a_name():
    (draft,) = outcome(GOOD).kept
    assert draft_text(draft) == GOOD and draft.payload["answer"] == "luta" and draft.parents == (DRAFT.id,)
    assert draft.payload["calls"] == [{"name": "b", "arguments": {}}] and draft.notes == {"obscured": "rule"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What is the river of Kemi?", "a hidden name is in the question"),
        ("What is the river of dorum, where tolven rules?", "a hidden name is in the question"),
        ("Is it luta?", "answer in the question"),
        ("Is it lutas, of kemis?", ""),
    ],
)
def test_a_question_with_the_name_or_the_answer_is_dropped(text, reason):
    assert outcome(text).reason == reason
    assert outcome(GOOD, desk=scripted_desk(json.dumps({"question": text}))).reason == reason


def solver(correct):
    answers = SolverAnswers(("luta", "sone")[: len(correct)], correct)
    return Solver(lambda drafts, at: [answers] * len(drafts), {"by": "fixed"})


@pytest.mark.parametrize(
    ("unique", "votes", "reason"),
    [
        (True, None, ""),
        (False, (True, True), "not unique"),
        (None, None, "uniqueness unknown"),
        (None, (True, False), ""),
        (None, (False, False), "too few votes"),
        (None, (), "unscored"),
    ],
)
def test_uniqueness_is_checked_by_rule_and_else_by_votes(unique, votes, reason):
    one = outcome(GOOD, unique=unique, solver=None if votes is None else solver(votes))
    assert one.reason == reason
    if votes and not reason and unique is None:
        assert one.kept[0].notes["answer_votes"]["share"] == 0.5


def test_a_model_reads_question_names_and_description():
    desk = scripted_desk(json.dumps({"question": " The river where tolven is mayor? "}))
    one = outcome(GOOD, desk=desk)
    (ask,) = desk.answerer.asks
    assert dict(ask.fields) == {"question": draft_text(DRAFT), "names": "kemi, dorum", "description": DESCRIPTION}
    assert draft_text(one.kept[0]) == "The river where tolven is mayor?" and one.kept[0].notes == {"obscured": "model"}
    assert one.asked[0]["role"] == "proposer" and one.kept[0].payload["calls"] == [{"name": "b", "arguments": {}}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("No.", "no answer: unreadable"),
        ('{"question": 3}', "no answer: unreadable"),
        ('{"question": " "}', "empty question"),
    ],
)
def test_another_answer_of_a_model_is_dropped(text, reason):
    one = outcome(GOOD, desk=scripted_desk(text))
    assert one.reason == reason and one.asked


def test_a_task_without_a_description_and_a_share_out_of_range():
    (one,) = obscure(lambda task: None, unique=lambda task: True, name="none").run([DRAFT], HERE)
    assert one.reason == "nothing to obscure"
    with pytest.raises(InputError, match="agree is 0"):
        outcome(GOOD, agree=0)
