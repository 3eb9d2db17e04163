import json
from collections import Counter

import pytest
from helpers.desks import scripted_desk

from handaxe.core.records import Message, Task
from handaxe.synthesis.rationales import Cell, rationale_settings, with_rationales
from handaxe.synthesis.step import dropped, kept
from handaxe.synthesis.task_drafts import task_draft


def judging(answers):
    """Outcomes of tasks with these answers, and the cells of one stratum."""
    tasks = [task_draft(Task("", (Message("user", f"pair {n}"),), answer)) for n, answer in enumerate(answers)]
    return [kept(one) for one in tasks], [Cell("pairs", answer, 2) for answer in answers]


def says(verdict, rationale="since 8 is even"):
    return json.dumps({"rationale": rationale, "verdict": verdict})


def test_a_task_with_a_correct_verdict_has_the_rationale_in_its_metadata():
    made, cells = judging("AB")
    one, two = with_rationales(scripted_desk(says("A"), says("B", " odd ")), made, cells)
    assert [out.kept[0].payload["metadata"] for out in (one, two)] == [
        {"rationale": "since 8 is even"},
        {"rationale": "odd"},
    ]
    assert one.kept[0].id != made[0].kept[0].id and one.asked[0]["role"] == "judge"


@pytest.mark.parametrize(
    ("text", "why"),
    [(says("B"), "another verdict"), (says("A", " "), "no rationale"), ("A", "no answer: unreadable")],
)
def test_other_answers_drop_the_task_and_what_balanced_it(text, why):
    made, cells = judging("AB")
    one, two = with_rationales(scripted_desk(text, says("B")), made, cells)
    assert (one.reason, two.reason) == (why, "verdicts would tell")


def test_kinds_of_a_stratum_are_equally_frequent_after_the_verdicts():
    """The model errs at one of three tasks with the answer B: two of each answer stay, and a dropped task stays so."""
    made, cells = judging("AAABBB")
    desk = scripted_desk(*[says("A")] * 3, says("A"), says("B"))
    found = with_rationales(desk, [*made, dropped("too long")], [*cells, None])
    assert Counter(one.kept[0].payload["answer"] for one in found if one.kept) == {"A": 2, "B": 2}
    assert [one.reason for one in found if one.reason].count("verdicts would tell") == 1
    assert found[-1] == dropped("too long") and len(desk.answerer.asks) == 6


def test_settings_name_the_model_and_the_prompt():
    assert rationale_settings(None) == {"by": "rule"}
    found = rationale_settings(scripted_desk("A"))
    assert found["by"] == "scripted" and found["prompt"].startswith("judge@")
