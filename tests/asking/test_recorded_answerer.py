"""Answers from a record: by what a question is about, and a failure for a question that was not asked."""

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.recorded_answerer import RecordedAnswerer
from handaxe.asking.store import StoredCall

STEP = find_prompt("step", terse=True)
SAID = AskAnswer(label_logp={"yes": -0.1, "no": -2.4})


def ask(about):
    return Ask(STEP, {"task": "", "before": "", "did": "", "then": ""}, about=about)


def test_answers_are_those_of_the_record():
    call = StoredCall(1, "judge", STEP.name, ("r", 0, ""), "", 0.9, "", False, SAID)
    failed = call._replace(about=("r", 1, ""), value=None, failure="budget", answer=AskAnswer(failure="unavailable"))
    answerer = RecordedAnswerer([call, failed])
    found = answerer.answer([ask(("r", 0, "")), ask(("r", 1, "")), ask(("s", 0, ""))])
    assert [one.failure for one in found] == ["", "unavailable", "unavailable"] and found[0] is SAID
    assert answerer.terse and not RecordedAnswerer([call._replace(prompt="step@1")]).terse
