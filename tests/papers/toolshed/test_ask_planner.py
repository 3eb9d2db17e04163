import json

import pytest

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.papers.toolshed.ask_planner import ask_planner, ask_questions, model_desk
from handaxe.worlds.toolbox.catalogue import ToolEntry

ENTRY = ToolEntry("area", "area", {}, "", "", json.dumps({"name": "area"}))


class Scripted:
    terse = False

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def fingerprint(self):
        return "scripted"

    def answer(self, asks):
        self.asked += asks
        return [self.answers.pop(0) for _ in asks]


def test_lines_of_the_answer_are_subqueries():
    answerer = Scripted(AskAnswer("1. area of a circle\n\n- sum of numbers\nsum of numbers"))
    plan = ask_planner(AskDesk(answerer))("the area and the sum")
    assert plan.subqueries == ("area of a circle", "sum of numbers")
    assert answerer.asked[0].fields == {"request": "the area and the sum"}


@pytest.mark.parametrize("answers", [("", " \n"), (AskAnswer(failure="unavailable"),)])
def test_without_an_answer_the_request_is_the_query(answers):
    given = [one if isinstance(one, AskAnswer) else AskAnswer(one) for one in answers]
    assert ask_planner(AskDesk(Scripted(*given)))("find it").subqueries == ("find it",)


def test_questions_are_lines_and_the_tool_is_quoted():
    answerer = Scripted(AskAnswer("\n".join(f"{k}) question {k}" for k in range(20))))
    assert ask_questions(AskDesk(answerer), ENTRY) == tuple(f"question {k}" for k in range(8))
    (message,) = answerer.asked[0].prompt.render(answerer.asked[0].fields)
    assert json.dumps(ENTRY.shown) in message.content
    assert ask_questions(AskDesk(Scripted(AskAnswer(failure="refused"))), ENTRY) == ()


def test_unknown_models_raise():
    with pytest.raises(InputError):
        model_desk("no_such_model")
