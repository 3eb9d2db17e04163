import pytest

pytest.importorskip("bfcl_eval")

from helpers.methods import made

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.artist.artist_bfcl import artist_bfcl
from handaxe.worlds.bfcl.world import bfcl
from handaxe.worlds.parts.demonstrate import demonstrate


def rollouts(world, task):
    """The expert, and the expert that answers one turn of the user without a call, for each turn."""

    def skipping(number):
        def speak(task, facts):
            skipped = facts.get("user_turn", 0) == number
            return Message("assistant", "") if skipped else world.expert(task, facts)

        return demonstrate(world.env(()), task, speak, format=Compact(), max_turns=16)

    return [skipping(number) for number in (-1, *range(len(task.metadata["gold"])))]


def partial_shares(method, world, count=40):
    """Share of rollouts with partial credit for the state, and for the calls."""
    state, function = [], []
    for task in world.tasks("train", count, 0):
        scores = method.reward(Group(task, tuple(rollouts(world, task))))
        state += scores.channels["partial_state"].tolist()
        function += scores.channels["partial_function"].tolist()
    return sum(state) / len(state), sum(function) / len(function)


def test_state_and_calls_of_the_default_world_earn_partial_credit():
    """With files alone, one attribute, the state is equal or not."""
    method = made("artist_bfcl", "--model", "tiny")
    state, function = partial_shares(method, method.world)
    files = bfcl(category=("short",))
    before = partial_shares(method, files)
    assert before[0] == 0 and state > 0.5 and function > before[1]
    assert (state, *before, function) == pytest.approx((0.71, 0.0, 0.43, 0.75), abs=0.02)


def test_the_expert_earns_every_part():
    method = made("artist_bfcl", "--model", "tiny")
    task = method.world.tasks("train", 1, 0)[0]
    scores = method.reward(Group(task, (rollouts(method.world, task)[0],)))
    assert scores.outcome.tolist() == [pytest.approx(1.5)] and scores.channels["partial_state"].tolist() == [0.0]
    assert artist_bfcl.__name__ == "artist_bfcl"
