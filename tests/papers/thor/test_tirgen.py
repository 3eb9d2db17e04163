"""TIRGen: the loop of actor and refiner by hand, its filters, and a failing model."""

import json

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.thor.actor import AskedActor, WorkedActor
from handaxe.papers.thor.tirgen import tirgen
from handaxe.synthesis.call_writer import CallWriter
from handaxe.synthesis.lesson import lesson_turns_of
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)


def run(solution, *, answer="112", actor=None, refiner=None, **options):
    task = Task("", (Message("user", "?"),), answer, None, {"solution": solution})
    step = tirgen(ENV, actor or WorkedActor(lambda one: one.metadata["solution"]), refiner or CallWriter(), **options)
    (outcome,) = step.run([task_draft(task)], SynthesisContext(0))
    return outcome.reason or [tuple(one[:3]) for one in lesson_turns_of(draft_task(outcome.kept[0]))]


def test_by_hand():
    found = run("He has 70+12 = 82 kernels, and 1+2=3 more. First a rest.\nSo 82 + 30=$112.0 in all. #### 112")
    assert found == [
        ("He has", "70+12", "82"),
        ("82 kernels, and 1+2=3 more. First a rest. So", "82+30", "112.0"),
    ]


@pytest.mark.parametrize(
    ("solution", "reason"),
    [
        ("70+12=83", "a reply contradicts the text"),
        ("He counts.", "nothing worth a call"),
        ("He counts. " * 12 + "70+42=112", "no answer in the last step"),
    ],
)
def test_solutions_that_fail_a_filter_are_dropped(solution, reason):
    assert run(solution) == reason


def test_an_actor_reads_the_reply_and_states_its_own_answer():
    desk = scripted_desk("So 70+42=112.", "Answer: 112")
    assert run("", actor=AskedActor(desk)) == [("So", "70+42", "112")]
    assert [one.fields["steps"] for one in desk.answerer.asks] == ["", "So 70+42=112."]
    assert run("", actor=AskedActor(scripted_desk("70+12=82", "Answer: 82"))) == "another answer"
    equal, near = (AskedActor(scripted_desk("So 70+42=112.", f"Answer: {one}")) for one in ("112.0", "112.3"))
    assert run("", actor=equal) == [("So", "70+42", "112")]
    assert run("", actor=near) == "another answer"
    assert run("", actor=AskedActor(scripted_desk("!refused"))) == "no step: refused"


def test_each_reply_replaces_the_stated_value_in_a_step_of_several_calls():
    desk = scripted_desk("He has 1000+234 = $1,234 kernels, and 1,234*2=2,468 more.", "Answer: 2468")
    found = run("", answer="2468", actor=AskedActor(desk))
    assert found == [("He has", "1000+234", "1,234"), ("1,234 kernels, and", "1234*2", "2,468")]
    assert desk.answerer.asks[1].fields["steps"] == "He has 1000+234=1234 kernels, and 1234*2=2468 more."


def test_a_refiner_leaves_steps_without_computations_as_text():
    answers = ['{"calls": []}', json.dumps({"calls": [{"span": "is 112", "code": "70+42", "value": "112"}]})]
    refiner = CallWriter(scripted_desk(*answers))
    assert run("He counts. It is 112 now.", refiner=refiner) == [("He counts. It", "70+42", "112")]
    assert run("x", refiner=CallWriter(scripted_desk("no"))) == "no answer: unreadable"
    cut = json.dumps({"calls": [{"span": "is 112", "code": "70+", "value": "112"}]})
    assert run("It is 112 now.", refiner=CallWriter(scripted_desk(cut))) == "a call failed"


def test_a_server_that_is_away_ends_the_run():
    with pytest.raises(InputError, match="questions to the actor have no answer"):
        run("", actor=AskedActor(scripted_desk("!unavailable")))


def test_wrong_input():
    with pytest.raises(InputError, match="most_steps is 0"):
        run("", most_steps=0)
