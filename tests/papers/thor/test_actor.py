"""Actors of TIRGen: worked solutions, and a model."""

import pytest
from helpers.desks import scripted_desk

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable
from handaxe.core.records import Message, Task
from handaxe.papers.thor.actor import AskedActor, NextStep, OpenSolution, WorkedActor, read_step

TASK = Task("t", (Message("user", "?"),), "112", None, {"solution": "He has 70+12=82. So 82+30=112.\n#### 112"})


def open_(*steps):
    return OpenSolution("a", TASK, "?", steps)


def test_worked_steps_are_sentences_and_then_the_answer():
    actor, steps = WorkedActor(lambda task: task.metadata["solution"]), []
    while not steps or steps[-1].answer is None:
        steps += actor.act([open_(*(one.text for one in steps))])
    assert [one.text for one in steps] == ["He has 70+12=82.", "So 82+30=112.", "#### 112", "Answer: 112"]
    assert steps[-1].answer == "112"


def test_the_model_reads_steps_with_results_and_no_worked_solution():
    desk = scripted_desk("So 82+30=112.", "!refused")
    first, second = AskedActor(desk).act([open_("He has 70+12=82."), open_()])
    assert (first.text, second.reason) == ("So 82+30=112.", "no step: refused") and first.asked and second.asked
    assert dict(desk.answerer.asks[0].fields) == {"question": "?", "steps": "He has 70+12=82."}


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("So 1+1=2.\n\nMore", "So 1+1=2."),
        ("So 1+1=2. Answer: 2", "So 1+1=2."),
        (" Answer: 2\n", "Answer: 2"),
        (" \n\n x", "x"),
    ],
)
def test_a_step_ends_at_a_blank_line_and_before_an_answer(text, step):
    assert read_step(AskAnswer(text)) == step


@pytest.mark.parametrize("text", ["", " \n\n ", "x" * 601])
def test_other_steps_are_unreadable(text):
    with pytest.raises(Unreadable):
        read_step(AskAnswer(text))


def test_an_answer_stands_alone():
    assert [NextStep(one).answer for one in ("Answer: 4", "so Answer: 4", "4")] == ["4", None, None]
