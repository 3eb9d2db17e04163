import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, Task, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.archer.twenty_questions import ATTRIBUTES, THINGS, has_attribute, twenty_questions
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def played(speaker, task=None):
    world = twenty_questions()
    task = task or world.tasks("train", 1, 0)[0]
    return demonstrate(world.env(()), task, speaker, format=Compact())


def asks(*names):
    """A policy that asks about these attributes in order, then states the replies."""

    def speaker(task, facts):
        if facts["turn"] < len(names):
            return Message("assistant", "", (ToolCall("ask", {"about": names[facts["turn"]]}),))
        return Message("assistant", " ".join(facts["replies"]))

    return speaker


def test_twenty_questions_keeps_the_world_contract():
    check_world(twenty_questions(), count=30, max_turns=8)


def test_five_attributes_identify_all_things_and_four_do_not():
    assert len(set(THINGS)) == 32 and len(set(ATTRIBUTES)) == 12
    assert [has_attribute(THINGS[6], name) for name in ATTRIBUTES[:5]] == [False, True, True, False, False]
    for count, different in ((5, 32), (4, 16)):
        assert len({tuple(has_attribute(thing, name) for name in ATTRIBUTES[:count]) for thing in THINGS}) == different
    others = [sum(has_attribute(thing, name) for thing in THINGS) for name in ATTRIBUTES[5:]]
    assert all(6 <= count <= 26 for count in others), "the others say something, too"


def test_the_expert_is_correct_after_five_questions():
    world = twenty_questions()
    for task in world.tasks("test", 40, 1):
        one = played(world.expert, task)
        assert [call.arguments["about"] for call in one.calls] == list(ATTRIBUTES[:5])
        assert [reply.content == "yes" for reply in one.replies] == [
            has_attribute(task.answer, n) for n in ATTRIBUTES[:5]
        ]
        assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_revealed_attributes_are_true_and_splits_are_disjoint():
    world, asked = twenty_questions(), {}
    for split in ("train", "test"):
        tasks = world.tasks(split, 300, 0)
        for task in tasks:
            name, word = task.messages[0].content.split()
            assert (word == "yes") == has_attribute(task.answer, name) and name in ATTRIBUTES[5:]
        asked[split] = {(task.answer, task.metadata["said"]) for task in tasks}
        assert len({task.answer for task in tasks}) > 25
    assert not asked["train"] & asked["test"]


def test_unknown_attributes_are_rejected():
    one = played(asks("blue", " big "))
    assert [reply.status for reply in one.replies] == ["retry", "ok"] and "big, old" in one.replies[0].content


def test_repeated_counts_questions_with_known_answers():
    gauge = twenty_questions().gauges["repeated"]
    task = twenty_questions().tasks("train", 1, 0)[0]
    one = played(asks("big", "old", "big", task.metadata["said"]), task)
    assert (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) == (2, 4)


def test_invalid_arguments_raise():
    world = twenty_questions()
    for split, count in (("train", 0), ("valid", 1)):
        with pytest.raises(InputError):
            world.tasks(split, count, 0)
    with pytest.raises(TaskError, match="none of the 32"):
        world.env(())(Task("t", (Message("user", "?"),)))
