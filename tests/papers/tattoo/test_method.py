"""Constants of the method tattoo, read by the tests of every method (tests/papers), and its reward on the expert."""

import pytest
from helpers.methods import made

from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True


def expert_reward(method):
    task = method.world.tasks("train", 1, 0)[0]
    env = method.world.env(method.world.tools)
    one = demonstrate(env, task, method.world.expert, format=Compact(), max_turns=5)
    return float(method.reward(Group(task, (one,))).outcome[0])


def test_the_reward_of_the_expert_with_and_without_tools():
    """Labels are correct with probability 1; the support of all steps adds the weight of tools."""
    calling = made("tattoo", "--world.terse", "0")
    assert expert_reward(calling) == pytest.approx(1.2, abs=1e-6)
    assert expert_reward(made("tattoo", "--world.terse", "1")) == pytest.approx(1.0, abs=1e-6)
    assert expert_reward(made("tattoo", "--world.terse", "0", "--tool-weight", "0")) == pytest.approx(1.0, abs=1e-6)
