"""Hints by the rule and by a model."""

import pytest
from helpers.desks import scripted_desk

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.tool_star.hint_writer import read_hint, write_hints

TASKS = [Task(name, (Message("user", f"{name}?"),), "1") for name in "ab"]


def test_the_rule_repeats_the_question():
    assert write_hints(TASKS, None) == {"a": "Use a tool. a?", "b": "Use a tool. b?"}


def test_a_model_writes_hints_and_a_task_without_one_is_left_out():
    desk = scripted_desk("Search for a.", "!refused")
    assert write_hints(TASKS, desk) == {"a": "Search for a."}
    assert [dict(one.fields) for one in desk.answerer.asks] == [{"question": "a?"}, {"question": "b?"}]


def test_a_server_that_is_away_ends_the_run():
    with pytest.raises(InputError, match="questions to the hinter have no answer"):
        write_hints(TASKS, scripted_desk("!unavailable"))


@pytest.mark.parametrize("text", ["", "a\nb", "x" * 401])
def test_other_texts_are_unreadable(text):
    assert read_hint(AskAnswer(f" {'x' * 400}\n")) == "x" * 400
    with pytest.raises(Unreadable):
        read_hint(AskAnswer(text))
