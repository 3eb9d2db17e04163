"""Constants of the method genagent, read by the tests of every method (tests/papers), and its reward by hand."""

import pytest
from helpers.methods import made

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True


def rollout(method, task, *programs):
    """A rollout that draws the programs, one a turn, and ends."""
    lines = [Message("assistant", "", (ToolCall("paint", {"program": program}),)) for program in programs]
    lines.append(Message("assistant", "done"))
    env = method.world.env(method.world.tools)
    return demonstrate(
        env, task, lambda task, facts: lines[facts["turn"]], format=Compact(TinyImageProcessor(8)), max_turns=4
    )


def test_the_reward_by_hand():
    """The last image has a fidelity of 1 or 2/3; a refinement that is better, and an end at 1, earn 0.5."""
    pytest.importorskip("PIL")
    method = made("genagent")
    tasks = method.world.tasks("train", 60, 0)

    def outcome(slips, *programs):
        task = next(one for one in tasks if [shift > 0 for shift in one.metadata["slips"][: len(slips)]] == slips)
        program = task.metadata["program"]
        one = rollout(method, task, *[program if given is None else given for given in programs])
        return method.reward(Group(task, (one,))).outcome[0]

    assert outcome([True, False], None, None) == pytest.approx(1.5)
    assert outcome([True, False], None) == pytest.approx(2 / 3)
    assert outcome([False, True], None) == pytest.approx(1.5)
    assert outcome([False, True], None, None) == pytest.approx(2 / 3)
    assert outcome([True]) == 0


def test_without_the_pairwise_reward_the_quality_alone_counts():
    pytest.importorskip("PIL")
    method = made("genagent", "--pairwise", "0")
    task = next(one for one in method.world.tasks("train", 60, 0) if not one.metadata["slips"][0])
    one = rollout(method, task, task.metadata["program"])
    assert method.reward(Group(task, (one,))).outcome[0] == pytest.approx(1.0)
