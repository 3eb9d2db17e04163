"""Descriptions, written tools and tasks of environments, by hand."""

import random

import pytest

from handaxe.papers.astra.environment import environment_task, tool_texts, written_rows
from handaxe.papers.astra.qa_traces import QaTrace
from handaxe.papers.astra.records import TABLES
from handaxe.papers.astra.sub_questions import SubQuestion
from handaxe.papers.astra.tool_writing import accepts_tool, mock_rows, write_tool

TOWN, MAYOR = SubQuestion("town", "1204", "4410", -1, 0), SubQuestion("mayor", "4410", "3071", 0, 0)
TRACE = QaTrace("1204 town mayor?", "3071", ())


class Least(random.Random):
    """Draws the least number of a range."""

    def randrange(self, start, stop):
        del stop
        return start


class Collides(random.Random):
    """Draws the key of the sub-question first."""

    drawn = 0

    def randrange(self, start, stop):
        self.drawn += 1
        return 1204 if self.drawn == 1 else super().randrange(start, stop)


def test_descriptions_name_table_and_kind():
    texts = tool_texts()
    assert texts["town"] == "Look up the town of a person." and texts["seat_old"] == "Look up the old seat of a firm."
    assert set(texts) == {*TABLES, *(f"{table}_old" for table in TABLES), "alarm", "clock", "dice"}


def test_refused_data_are_written_again():
    first = mock_rows("town", (("1204", "4410"),), Collides(0))
    assert first[1][0] == "1204" and not accepts_tool(write_tool("town", first), TOWN)
    (rows,) = written_rows([TOWN], Collides(0), tries=2)
    assert accepts_tool(write_tool("town", rows), TOWN)
    assert written_rows([TOWN], Collides(0), tries=1) is None


REFUSED = {
    "no answer": {"answer": ""},
    "two tables": {"table": "town mayor"},
    "its key has other data": {"key": "1000"},
}


@pytest.mark.parametrize("changed", REFUSED.values(), ids=REFUSED)
def test_tools_are_written_for_all_sub_questions_or_for_none(changed):
    assert written_rows([MAYOR, TOWN._replace(**changed)], Least()) is None
    assert written_rows([MAYOR], Least()) == [(("4410", "3071"), *[("4000", "1000")] * 4)]


def test_a_task_has_needed_tools_distractors_and_gold_calls():
    task = environment_task(TRACE, [TOWN, MAYOR], {"town": "A", "mayor": "B"}, Least(), name="t", counts=(2, 0, 0))
    assert (task.id, task.messages[0].content, task.answer) == ("t", "1204 town mayor?", "3071")
    assert task.tools == ("mayor", "mayor_old", "town", "town_old")
    assert task.metadata["environment"]["town"] == ["A", "Look up the town of a person."]
    assert {name: value for name, value in task.metadata.items() if name != "environment"} == {
        "unsolved": {"town": ["4410"], "mayor": ["3071"]},
        "sub_questions": [["town", "1204", "4410", -1, 0], ["mayor", "4410", "3071", 0, 0]],
        "gold_calls": [
            {"name": "town", "arguments": {"name": "1204"}},
            {"name": "mayor", "arguments": {"name": "4410"}},
        ],
        "needed": ["mayor", "town"],
        "sub_count": 2,
    }


def test_an_old_tool_knows_the_keys_of_the_question_and_none_of_its_answers():
    """Every invented value is 4000."""
    for answer, rows in (("4410", (*[("1000", "4000")] * 4, ("1204", "4000"))), ("4000", ())):
        task = environment_task(TRACE, [TOWN._replace(answer=answer)], {"town": "A"}, Least(), counts=(1, 0, 0))
        assert task.metadata["environment"]["town_old"][0] == write_tool("town_old", rows)


def test_other_distractors_know_no_key_of_the_question():
    task = environment_task(TRACE, [TOWN], {"town": "A"}, Least(), counts=(0, 0, 3))
    assert task.tools == ("alarm", "clock", "dice", "town")
    assert task.metadata["environment"]["dice"][0] == write_tool("dice", (("1000", "1000"),) * 4)
