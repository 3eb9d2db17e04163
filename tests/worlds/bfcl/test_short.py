import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.errors import TaskError
from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.bfcl import short as bfcl_short
from handaxe.worlds.bfcl.world import bfcl
from handaxe.worlds.parts.demonstrate import demonstrate

VERBS = {"Make folder": "mkdir", "Open folder": "cd", "Create file": "touch", "Delete file": "rm"}


def names(task):
    return {word for turn in task.metadata["gold"] for call in turn for word in call["arguments"].values()}


def test_short_tasks_fit_the_tiny_policys_context():
    world = bfcl(category=("short",))
    longest = 0
    for task in world.tasks("train", 300, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact())
        assert one.env["valid"] and all(reply.status == "ok" for reply in one.replies)
        assert {call.name for call in one.calls} <= set(bfcl_short.FUNCTIONS) == {tool.name for tool in one.tools}
        longest = max(longest, len(one.sequences[0].ids) + 16)
    assert longest < 256


def test_calls_fulfil_the_requests():
    for task in bfcl_short.tasks(split="test", count=100, seed=3):
        said = [task.messages[0].content, *(text for turn in task.metadata["later"] for text in turn)]
        assert len(said) == len(task.answer) <= 2
        for text, calls in zip(said, task.metadata["gold"]):
            (call,) = calls
            words, _, name = text.removesuffix(".").rpartition(" ")
            assert call["name"] == VERBS[words] and list(call["arguments"].values()) == [name]


def test_splits_share_no_name():
    both = [bfcl_short.tasks(split=split, count=400, seed=0) for split in ("train", "test")]
    train, test = (set().union(*map(names, made)) for made in both)
    assert not train & test and len(train) > 400 and len(test) > 150


def test_an_action_in_another_folder_is_incorrect():
    world = bfcl(category=("short",))
    (task,) = [one for one in world.tasks("train", 50, 0) if one.answer[0][0].startswith("cd(")][:1]
    one = demonstrate(world.env(()), task, lambda task, facts: Message("assistant", "done"), format=Compact())
    assert not one.env["valid"] and one.env["turns"][0] is False


def test_a_count_of_0_raises():
    with pytest.raises(TaskError, match="empty"):
        bfcl_short.tasks(split="train", count=0, seed=0)


def test_longer_tasks_have_at_least_half_of_the_turns():
    made = bfcl_short.tasks(split="train", count=60, seed=0, longest=6)
    assert {len(task.metadata["gold"]) for task in made} == {3, 4, 5, 6}
