"""Constants of the method agent0_vl, read by the tests of every method (tests/papers), and its divergence."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
DEAD_PARTS = {"repaired", "correct"}
MAY_TIE = "no reference answer is read: an approved wrong answer earns as much as an approved correct one"


def scores(*options):
    """Scores of the world's expert, with divergences as if measured."""
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    method = made("agent0_vl", *options)
    world = method.world
    (task,) = world.tasks("train", 1, 0)
    format = Compact(TinyImageProcessor(8))
    one = demonstrate(world.env(()), task, world.expert, format=format, rollout=method.evaluate_rollout)
    one.notes["divergence"] = {str(step[0]): 0.8 for step in one.notes["steps"]}
    return method.reward(Group(task, (one,)))


def test_the_divergence_lowers_the_reward_and_has_a_channel():
    """0.1 * (0.8 + 0.99 * 0.8) = 0.1592"""
    plain, with_weight = scores(), scores("--divergence", "0.1")
    assert plain.outcome[0] - with_weight.outcome[0] == pytest.approx(0.1592)
    assert with_weight.channels["verified/divergence"].tolist() == pytest.approx([0.8])


def test_without_a_weight_the_channels_are_those_of_the_method():
    assert scores("--divergence", "0").channels.keys() == {"verified", "repaired", "correct"}


def test_a_negative_divergence_raises():
    with pytest.raises(InputError, match="divergence is -1"):
        made("agent0_vl", "--divergence", "-1")
