import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ParsedTurn, Sampling, Turn
from handaxe.models.compact import Compact
from handaxe.tools.compute import compute
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.sums import TABLES, WORDS, kept_calls, states_number, sums


def played(world, task, tools=None):
    offered = world.tools if tools is None else tools
    return demonstrate(world.env(offered), task, world.expert, format=Compact())


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


@pytest.mark.parametrize("tools", [None, (compute,), ()], ids=["calculator", "compute", "none"])
def test_the_expert_calls_for_what_is_hard_where_a_tool_can(tools):
    world = sums()
    for task in world.tasks("train", 60, 0):
        one = played(world, task, tools)
        assert right(world, one) == 1
        assert len(one.calls) == (task.metadata["difficulty"] == "hard" and tools != ())


def test_the_expert_that_is_not_sure_calls_for_what_is_easy_too():
    world = sums(easy=1.0)
    (task,) = world.tasks("train", 1, 0)
    state = {"turn": 0, "replies": [], "statuses": [], "tools": ["calculator"], "sure": False}
    assert world.expert(task, state).calls == kept_calls(task)
    assert world.expert(task, {**state, "sure": True}).content == task.answer


def test_the_tables_hold_every_easy_question_in_other_words():
    world = sums(easy=1.0)
    answers = dict(TABLES)
    assert len(TABLES) == 1200 and answers["7*8 is"] == "56" and answers["3-8 is"] == "-5"
    for split in ("train", "test"):
        for task in world.tasks(split, 100, 0):
            for words in WORDS:
                assert answers[words.format(task.metadata["expression"])] == task.answer
            assert task.messages[0].content not in answers


def test_the_last_number_counts_where_asked_for():
    task = sums().tasks("train", 1, 0)[0]
    one = demonstrate(sums().env(()), task, says(f"It is {task.answer}"), format=Compact())
    assert right(sums(), one) == 0 and right(sums(last_number=True), one) == 1


def says(text):
    return lambda task, facts: Message("assistant", text)


def test_a_number_is_an_answer():
    for text, found in (("it is 7", True), ("seven", False), ("", False)):
        assert states_number(Turn(0, 0, 1, ParsedTurn(text), "stop", Sampling(), 0)) is found


def test_what_cannot_be():
    with pytest.raises(InputError, match="easy 0 to 1"):
        sums(easy=2).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="empty"):
        sums().tasks("train", 0, 0)
