import pytest

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_light.stepwise_sums import EFFICIENCY, stepwise_sums
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate


def test_efficiency_by_hand():
    """(correct, calls) = (1, 2), (0, 1), (1, 1), (1, 0) -> 0.5, 0, 1, 1."""
    rows = [(1.0, 2), (0.0, 1), (1.0, 1), (1.0, 0)]
    assert [EFFICIENCY.top(make_trajectory(calls=[["f"] * calls]), right) for right, calls in rows] == [0.5, 0, 1, 1]


def test_expert_is_correct_and_repeats_calls_in_half_of_the_questions():
    world = stepwise_sums()
    env = world.env(world.tools)
    extra = []
    for task in world.tasks("train", 60, 3):
        one = demonstrate(env, task, world.expert, format=Compact(), max_turns=4)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        if task.metadata["steps"] != "0":
            extra.append(len(one.calls) - int(task.metadata["steps"]))
        else:
            assert not one.calls
    assert set(extra) == {0, 1} and 0.3 < sum(extra) / len(extra) < 0.7


def test_unsure_expert_calls_without_need():
    world = stepwise_sums()
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["steps"] == "0")
    facts = {"turn": 0, "replies": [], "statuses": [], "tools": ["calculator"], "sure": False}
    assert [call.arguments for call in world.expert(task, facts).calls] == [{"expression": task.metadata["expression"]}]


def test_splits_share_no_question():
    world = stepwise_sums()
    train, test = ({one.messages[0].content for one in world.tasks(split, 300, 0)} for split in ("train", "test"))
    assert not train & test
    with pytest.raises(Exception, match="train or test"):
        world.tasks("dev", 1, 0)
