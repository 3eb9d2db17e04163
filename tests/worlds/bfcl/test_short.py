import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.bfcl import short as bfcl_short
from handaxe.worlds.bfcl.world import bfcl, equal_state, full_state
from handaxe.worlds.parts.demonstrate import demonstrate

VERBS = {"Make folder": "mkdir", "Open folder": "cd", "Create file": "touch", "Delete file": "rm"}


def names(task):
    return {str(word) for turn in task.metadata["gold"] for call in turn for word in call["arguments"].values()}


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


def test_tickets_give_a_state_of_four_attributes_in_512_tokens():
    world = bfcl(category=("short",), user_turns=4, tickets=True)
    changed, called = set(), set()
    for task in world.tasks("train", 100, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=16)
        assert one.env["valid"] and all(reply.status == "ok" for reply in one.replies)
        assert len(one.sequences[0].ids) + 16 < 512 and len(full_state(task)) == 4
        called |= {call.name for call in one.calls}
        idle = demonstrate(world.env(()), task, lambda task, facts: Message("assistant", "no"), format=Compact())
        changed |= {name for name, equal in equal_state(idle).items() if not equal}
    assert called == {*bfcl_short.FUNCTIONS, *bfcl_short.TICKETS}
    assert changed == {"GorillaFileSystem.root", "TicketAPI.ticket_queue", "TicketAPI.current_user"}


def test_tickets_leave_the_splits_disjoint_and_other_tasks_unchanged():
    both = [bfcl_short.tasks(split=split, count=200, seed=0, tickets=True) for split in ("train", "test")]
    train, test = (set().union(*map(names, made)) for made in both)
    assert not train & test
    plain = bfcl_short.tasks(split="train", count=3, seed=0)
    assert all(task.metadata["functions"] == list(bfcl_short.FUNCTIONS) for task in plain)
    assert [task.id for task in plain] == [f"short-train-0-{number}" for number in range(3)]


def test_tickets_of_another_category_raise():
    with pytest.raises(InputError, match="tickets is for"):
        bfcl(tickets=True)


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
