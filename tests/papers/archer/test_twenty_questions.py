import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, Task, ToolCall
from handaxe.models.compact import Compact
from handaxe.papers.archer.twenty_questions import ATTRIBUTES, THINGS, is_so, twenty_questions
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def played(speaker, task=None):
    world = twenty_questions()
    task = task or world.tasks("train", 1, 0)[0]
    return demonstrate(world.env(()), task, speaker, format=Compact())


def asks(*names):
    """Asks about these in order, then says what it was told."""

    def speaker(task, facts):
        if facts["turn"] < len(names):
            return Message("assistant", "", (ToolCall("ask", {"about": names[facts["turn"]]}),))
        return Message("assistant", " ".join(facts["replies"]))

    return speaker


def test_the_contract():
    check_world(twenty_questions(), count=30, max_turns=8)


def test_five_questions_tell_all_things_apart_and_four_do_not():
    assert len(set(THINGS)) == 32 and len(set(ATTRIBUTES)) == 12
    assert [is_so(THINGS[6], name) for name in ATTRIBUTES[:5]] == [False, True, True, False, False]
    for count, different in ((5, 32), (4, 16)):
        assert len({tuple(is_so(thing, name) for name in ATTRIBUTES[:count]) for thing in THINGS}) == different
    others = [sum(is_so(thing, name) for thing in THINGS) for name in ATTRIBUTES[5:]]
    assert all(6 <= count <= 26 for count in others), "the others say something, too"


def test_the_expert_asks_five_and_is_right_at_every_thing():
    world = twenty_questions()
    for task in world.tasks("test", 40, 1):
        one = played(world.expert, task)
        assert [call.arguments["about"] for call in one.calls] == list(ATTRIBUTES[:5])
        assert [reply.content == "yes" for reply in one.replies] == [is_so(task.answer, n) for n in ATTRIBUTES[:5]]
        assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_what_is_said_beforehand_is_so_and_questions_stay_on_their_side():
    world, asked = twenty_questions(), {}
    for split in ("train", "test"):
        tasks = world.tasks(split, 300, 0)
        for task in tasks:
            name, word = task.messages[0].content.split()
            assert (word == "yes") == is_so(task.answer, name) and name in ATTRIBUTES[5:]
        asked[split] = {(task.answer, task.metadata["said"]) for task in tasks}
        assert len({task.answer for task in tasks}) > 25
    assert not asked["train"] & asked["test"]


def test_what_is_no_attribute_is_refused_and_told():
    one = played(asks("blue", " big "))
    assert [reply.status for reply in one.replies] == ["retry", "ok"] and "big, old" in one.replies[0].content


def test_the_gauge_counts_what_was_known():
    gauge = twenty_questions().gauges["repeated"]
    task = twenty_questions().tasks("train", 1, 0)[0]
    one = played(asks("big", "old", "big", task.metadata["said"]), task)
    assert (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) == (2, 4)


def test_what_cannot_be_made():
    world = twenty_questions()
    for split, count in (("train", 0), ("valid", 1)):
        with pytest.raises(InputError):
            world.tasks(split, count, 0)
    with pytest.raises(TaskError, match="none of the 32"):
        world.env(())(Task("t", (Message("user", "?"),)))
