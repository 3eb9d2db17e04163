"""A model writes scenarios, documents and code; other answers have a reason."""

import json

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.papers.ftrl.asked_environments import AskedWriter, describe_kind
from handaxe.papers.ftrl.environment_writer import SeededId
from handaxe.papers.ftrl.sub_steps import Scenario, SubStep, check_scenario

STEPS = [
    {"question": "Who leads Oslo Mills?", "answer": "Kemi", "needs": []},
    {"question": "Where does Kemi live?", "answer": "Tarn", "needs": [0]},
]
QUESTION = {"question": "Where does the head of Oslo Mills live?", "answer": "Tarn", "steps": STEPS}
HEAD = {"name": "head", "description": "Head of a firm.", "parameters": {"firm": "name"}, "arguments": {"firm": "Oslo"}}
HOME = {"name": "home", "description": "Home.", "parameters": {"person": "name"}, "arguments": {"person": "Kemi"}}
CODE = "def head(firm):\n    return {'Oslo': 'Kemi', 'Bergen': 'Ida'}[firm]\n"
SCENARIO = Scenario("chain", QUESTION["question"], "Tarn", (SubStep(STEPS[0]["question"], "Kemi"),
                    SubStep(STEPS[1]["question"], "Tarn", (0,))))  # fmt: skip


def texts(*values):
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def test_a_scenario_is_read_and_seeds_differ():
    desk = scripted_desk(*texts(QUESTION, "no"))
    first, second = AskedWriter(desk).scenarios([SeededId("a", "chain", 1), SeededId("b", "chain", 2)])
    assert first.value == SCENARIO and check_scenario(first.value) == "" and first.asked
    assert second.reason == "no answer: unreadable"
    assert [one.sample for one in desk.answerer.asks] == [1, 2]
    assert "one part, answered in 2 steps" in desk.answerer.asks[0].fields["kind"]
    (other,) = AskedWriter(scripted_desk(*texts({**QUESTION, "steps": ["x"]}))).scenarios([SeededId("a", "chain", 1)])
    assert other.reason == "another form"


def test_documents_are_asked_for_each_step():
    desk = scripted_desk(*texts(HEAD, HOME))
    (found,) = AskedWriter(desk).documents([("a", SCENARIO)])
    assert [(one.tool.name, dict(one.calls)) for one in found.value] == [
        ("head", {0: {"firm": "Oslo"}}),
        ("home", {1: {"person": "Kemi"}}),
    ]
    assert [one.fields["question"] for one in desk.answerer.asks] == [one["question"] for one in STEPS]
    assert len(found.asked) == 2


def test_equal_documents_are_one_tool():
    again = {**HEAD, "arguments": {"firm": "Bergen"}}
    (found,) = AskedWriter(scripted_desk(*texts(HEAD, again))).documents([("a", SCENARIO)])
    assert [dict(one.calls) for one in found.value] == [{0: {"firm": "Oslo"}, 1: {"firm": "Bergen"}}]


@pytest.mark.parametrize(
    "document",
    [
        {**HEAD, "name": "two words"},
        {**HEAD, "name": "a-b"},
        {**HEAD, "parameters": {"a b": "name"}, "arguments": {"a b": "Oslo"}},
        {**HEAD, "arguments": {"firm": 3}},
        {**HEAD, "arguments": {}},
        {**HEAD, "arguments": {"firm": "Oslo", "more": "x"}},
    ],
)
def test_documents_of_another_form_have_a_reason(document):
    (found,) = AskedWriter(scripted_desk(*texts(document, HOME))).documents([("a", SCENARIO)])
    assert (found.value, found.reason) == (None, "another form")


def test_a_document_that_changes_a_tool_has_a_reason():
    (found,) = AskedWriter(scripted_desk(*texts(HEAD, {**HEAD, "description": "Other."}))).documents([("a", SCENARIO)])
    assert found.reason == "another form"


def test_code_is_asked_for_each_tool_with_its_calls():
    writer = AskedWriter(scripted_desk(*texts(HEAD, HOME)))
    (documents,) = writer.documents([("a", SCENARIO)])
    desk = scripted_desk(*texts({"code": CODE}, "no"))
    (found,) = AskedWriter(desk).codes([("a", SCENARIO, documents.value)], 0)
    assert found.reason == "no answer: unreadable" and len(found.asked) == 2
    assert json.loads(desk.answerer.asks[0].fields["calls"]) == [{"arguments": {"firm": "Oslo"}, "result": "Kemi"}]
    (found,) = AskedWriter(scripted_desk(*texts({"code": CODE}))).codes([("a", SCENARIO, documents.value)], 0)
    assert [one.tool.code for one in found.value] == [CODE, CODE]


def test_a_server_that_is_away_ends_the_run():
    with pytest.raises(InputError, match="questions to the decompose have no answer"):
        AskedWriter(scripted_desk("!unavailable")).scenarios([SeededId("a", "chain", 1)])


def test_kinds_in_words():
    assert describe_kind("single") == "one part, answered in one step"
    assert describe_kind("parallel chain").startswith("2 independent parts, each answered in 2 steps")
