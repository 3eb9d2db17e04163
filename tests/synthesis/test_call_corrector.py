"""Corrections of failed calls by a model."""

from helpers.desks import scripted_desk

from handaxe.asking.desk import NoAnswer
from handaxe.synthesis.call_corrector import CallCorrector, FailedCall


def test_the_model_reads_question_code_and_error():
    desk = scripted_desk('{"code": "12*34"}', "no")
    corrector = CallCorrector(desk, about="calculator")
    failed = [FailedCall("a", "12*34=?", "12*", "cannot read"), FailedCall("b", "1+1=?", "1+", "cannot read")]
    found = corrector.correct(failed)
    assert [one.value for one in found] == ["12*34", NoAnswer("unreadable", "no")]
    assert dict(desk.answerer.asks[0].fields) == {
        "tool": "calculator", "question": "12*34=?", "code": "12*", "error": "cannot read",
    }  # fmt: skip
    assert corrector.settings["by"] == "scripted" and corrector.settings["prompt"].startswith("correct_call@1 ")
