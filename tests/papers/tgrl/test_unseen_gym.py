import pytest

pytest.importorskip("reasoning_gym")

from handaxe.core.errors import TaskError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tgrl.unseen_gym import SEEN, UNSEEN, unseen_gym
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.answering import stated_answer
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, task, speaker=None, tools=None):
    offered = world.tools if tools is None else tools
    one = demonstrate(world.env(offered), task, speaker or world.expert, format=Compact())
    return one, world.correct(Group(task, (one,))).outcome[0]


def test_unseen_gym_keeps_the_world_contract():
    check_world(unseen_gym(), count=12)


def test_training_lacks_the_unseen_generators():
    world = unseen_gym()
    assert {one.metadata["generator"] for one in world.tasks("train", 60, 0)} == set(SEEN)
    tests = world.tasks("test", 120, 0)
    assert {one.metadata["generator"] for one in tests} == {*SEEN, *UNSEEN}
    assert all((one.metadata["seen"] == "yes") == (one.metadata["generator"] in SEEN) for one in tests)
    assert 35 < sum(one.metadata["seen"] == "no" for one in tests) < 85


@pytest.mark.parametrize("tools", [None, ()], ids=["calculator", "none"])
def test_the_expert_submits_and_ends_the_rollout(tools):
    world = unseen_gym()
    for task in world.tasks("test", 20, 0):
        one, right = played(world, task, tools=tools)
        assert right == 1 and one.replies[-1].name == "answer" and one.ending.kind == "completed"
        called = task.metadata["generator"] != "calendar_arithmetic" and tools is None
        assert [call.name for call in one.calls] == ["calculator"] * called + ["answer"]
        assert world.gauges["handed_in"].top(one, 1.0) == 1


def test_answers_in_words_are_scored():
    world = unseen_gym()
    (task,) = world.tasks("train", 1, 0)
    one, right = played(world, task, lambda task, facts: Message("assistant", task.answer))
    assert right == 1 and stated_answer(one) == task.answer and world.gauges["handed_in"].top(one, 1.0) == 0
    silent, right = played(world, task, lambda task, facts: Message("assistant", ""))
    assert right == 0 and stated_answer(silent) == ""


def test_invalid_generators_raise():
    for seen, unseen in (((), UNSEEN), (SEEN, ()), (("lcm",), ("lcm",))):
        with pytest.raises(TaskError, match="give disjoint"):
            unseen_gym(seen=seen, unseen=unseen)
