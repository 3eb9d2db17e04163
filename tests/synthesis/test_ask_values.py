"""Values of questions to a model: readable ones, unreadable ones, and nobody who answers."""

import pytest
from helpers.desks import scripted_desk

from handaxe.asking.ask import Ask
from handaxe.asking.desk import NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.errors import InputError
from handaxe.synthesis.ask_values import ask_values, desk_settings

READ = json_object({"code": str})


def asks(*ids):
    fields = {"tool": "t", "question": "q", "code": "c", "error": "e"}
    return [Ask(find_prompt("correct_call"), {**fields, "code": one}, about=(one, -1, ""), role="own") for one in ids]


def test_each_draft_has_its_own_value_and_record():
    found = ask_values(scripted_desk('{"code": "1"}', "no"), asks("a", "b"), READ)
    assert [one.value for one in found] == [{"code": "1"}, NoAnswer("unreadable", "no")]
    assert [[row["failure"] for row in one.asked] for one in found] == [[""], ["unreadable"]]


@pytest.mark.parametrize(
    ("failure", "advice"), [("unavailable", "the server is away"), ("budget", "the budget is spent")]
)
def test_a_missing_server_and_a_spent_budget_end_the_run(failure, advice):
    with pytest.raises(InputError, match=f"1 of 2 questions to the own have no answer: {advice}"):
        ask_values(scripted_desk('{"code": "1"}', f"!{failure}"), asks("a", "b"), READ)


def test_settings_name_who_answers():
    assert desk_settings(None) == {"by": "rule"}
    assert desk_settings(scripted_desk("x"), "p@1") == {"by": "scripted", "prompt": "p@1"}
