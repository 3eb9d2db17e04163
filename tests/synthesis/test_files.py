import json

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis.files import CARD, PROVENANCE, TASKS, read_card, write_files
from handaxe.synthesis.step import StepRound, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import task_draft

ASKED = {"role": "judge", "failure": "", "read": 10, "written": 2, "cost": 0.5}


def drafts(count):
    return tuple(task_draft(Task("", (Message("user", f"{n}+1=?"),), str(n + 1))) for n in range(count))


def test_the_card_counts_drafts_reasons_and_questions_by_hand(tmp_path):
    """Two rounds of a step: three drafts of which one stays, then one that stays; three questions, one failed."""
    one, two, three, four = drafts(4)
    step = SynthesisStep("check", lambda drafts, at: [], version=3, settings={"low": 1})
    first = (kept(one)._replace(asked=(ASKED, ASKED)), dropped("wrong"), dropped("long"))
    second = (kept(four)._replace(asked=({**ASKED, "failure": "unreadable"},)),)
    units = [StepRound(0, step, (one, two, three), first), StepRound(1, step, (four,), second)]
    card = write_files(tmp_path, [one, four], units, about={"seed": 7})
    assert (card["seed"], card["tasks"], card["rounds"]) == (7, 2, 2)
    row = {"name": "check", "version": 3, "settings": {"low": 1}, "in": 4, "out": 2}
    assert card["steps"] == [{**row, "reasons": {"long": 1, "wrong": 1}}]
    assert card["cost"] == {"judge": {"asks": 3, "cost": 1.5, "failures": 1, "read": 30, "written": 6}}
    assert sum(card["splits"].values()) == 2 and read_card(tmp_path) == card
    assert [json.loads(line)["answer"] for line in (tmp_path / TASKS).read_text().splitlines()] == ["1", "4"]
    lines = [json.loads(line) for line in (tmp_path / PROVENANCE).read_text().splitlines()]
    assert [(line["round"], line["kept"], line["reason"]) for line in lines] == [
        (0, [one.id], ""),
        (0, [], "wrong"),
        (0, [], "long"),
        (1, [four.id], ""),
    ]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([TASKS, PROVENANCE, CARD]), "no half file"


@pytest.mark.parametrize(("text", "why"), [(None, "has no card"), ("{", "has no card"), ("[]", "no card of")])
def test_a_folder_without_a_card_is_an_error(tmp_path, text, why):
    if text is not None:
        (tmp_path / CARD).write_text(text)
    with pytest.raises(InputError, match=why):
        read_card(tmp_path)
