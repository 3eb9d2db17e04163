import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.papers.bats.clue_search import clue_search

MADE = clue_search(count=12, seed=0, size=16)
FIND, OPEN = MADE.tools


def listed(clue):
    """All names of a clue, page by page."""
    names = []
    last = "more"
    for page in range(1, 99):
        _, shown = FIND.run(ToolCall("find", {"query": f"{clue[0]} {clue[1]} {page}"})).content.split(": ")
        *new, last = shown.split()
        assert len(new) <= 2
        names += new
        if last == "end":
            break
    assert last == "end"
    return names


def test_the_clues_of_a_question_fit_one_person():
    for task in MADE.tasks:
        clues = task.metadata["clues"]
        assert task.messages[0].content == " ".join(" ".join(clue) for clue in clues) + "?" and len(clues) == 3
        assert set.intersection(*[set(listed(clue)) for clue in clues]) == {task.answer}


def test_a_page_shows_the_clues_of_a_person():
    for task in MADE.tasks:
        content = OPEN.run(ToolCall("open", {"name": task.answer})).content
        assert content.startswith(f"{task.answer}: ally ")
        assert all(f"{relation} {value}" in content for relation, value in task.metadata["clues"])


def test_tasks_differ_and_repeat_with_the_seed():
    answers = [(task.answer, str(task.metadata)) for task in MADE.tasks]
    assert len(set(answers)) == 12
    assert [task.id for task in clue_search(count=12, seed=0, size=16).tasks] == [task.id for task in MADE.tasks]
    assert clue_search(count=12, seed=1, size=16).tasks != MADE.tasks


@pytest.mark.parametrize("query", ["", "boss 4071", "friend 4071 1", "boss 4071 0"])
def test_malformed_queries_fail(query):
    assert FIND.run(ToolCall("find", {"query": query})).status == "failed"


def test_unknown_names_have_no_page_and_an_empty_list():
    assert OPEN.run(ToolCall("open", {"name": "nobody"})).status == "failed"
    assert FIND.run(ToolCall("find", {"query": "boss nobody 1"})).content == "boss nobody 1: end"


@pytest.mark.parametrize("count", [0, 10**6])
def test_a_count_out_of_range_raises(count):
    with pytest.raises(InputError, match="clue_search has 1 to"):
        clue_search(count=count, seed=0, size=16)
