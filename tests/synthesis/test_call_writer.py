"""Calls for the computations of a text: rule, model, and answers that quote another text."""

import json

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.synthesis.call_writer import CallWriter, WorkedText, place_calls
from handaxe.synthesis.computations import computations
from handaxe.synthesis.lesson import LessonTool

TEXT = "He has 70+12 = 82. So 82+30=112 in all."
GOOD = [
    {"span": "70+12 = 82", "code": "70+12", "value": "82"},
    {"span": "82+30=112", "code": "82+30", "value": "112"},
]


def write(*answers, text=TEXT):
    desk = scripted_desk(*answers)
    return CallWriter(desk).write([WorkedText("a", "how many?", text)])[0], desk.answerer.asks


def test_a_model_that_names_the_same_spans_gives_the_calls_of_the_rule():
    found, (ask,) = write(f"Sure: {json.dumps({'calls': GOOD})}")
    assert list(found.found) == computations(TEXT) and (found.reason, len(found.asked)) == ("", 1)
    assert dict(ask.fields) == {"tool": "calculator(expression), such as 12*34", "question": "how many?", "text": TEXT}
    assert list(CallWriter().write([WorkedText("a", "how many?", TEXT)])[0].found) == computations(TEXT)


def test_an_empty_list_is_an_answer_and_the_rule_is_not_asked():
    found, _ = write('{"calls": []}')
    assert (found.found, found.reason) == ((), "")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("no", "no answer: unreadable"),
        ("!refused", "no answer: refused"),
        (json.dumps({"calls": GOOD[::-1]}), "spans that are not in the text"),
        (json.dumps({"calls": [{**GOOD[0], "span": "70+13 = 83"}]}), "spans that are not in the text"),
        (json.dumps({"calls": [{**GOOD[0], "value": "83"}]}), "spans that are not in the text"),
        (json.dumps({"calls": [{"span": "70+12 = 8", "code": "4+4", "value": "8"}]}), "spans that are not in the text"),
        (
            json.dumps({"calls": [{"span": "70+12 = 82", "code": "1+1", "value": "2"}]}),
            "spans that are not in the text",
        ),
        (json.dumps({"calls": [{**GOOD[0], "code": 82}]}), "spans that are not in the text"),
        (json.dumps({"calls": ["70+12"]}), "spans that are not in the text"),
    ],
)
def test_another_answer_has_a_reason(answer, reason):
    found, _ = write(answer)
    assert (found.found, found.reason) == ((), reason)


def test_a_server_that_is_away_ends_the_run():
    with pytest.raises(InputError, match="questions to the refiner have no answer"):
        write("!unavailable")


def test_spans_are_found_from_the_last_value_on():
    """Slow twin: the second equal span is the one behind the first value."""
    text, call = "1+1=2 and 1+1=2", {"span": "1+1=2", "code": "1+1", "value": "2"}
    found = place_calls(text, [call, call])
    assert [one.stop for one in found] == [k for k in range(len(text)) if text[k] == "2"]
    assert [one.before for one in found] == ["", "2 and"] and place_calls(text, [call] * 3) is None


def test_settings_change_with_who_answers_and_with_the_tool():
    rule, model = CallWriter(), CallWriter(scripted_desk("x"))
    other = CallWriter(tool=LessonTool("python", "code", "print({})"))
    assert len({json.dumps(one.settings) for one in (rule, model, other)}) == 3
    assert model.settings["by"] == "scripted" and model.settings["prompt"].startswith("write_calls@1 ")
