import numpy as np
import pytest

pytest.importorskip("bfcl_eval")

from helpers.methods import made

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, task, skipped):
    """The expert, which answers one turn of the user without a call."""

    def speak(task, facts):
        silent = facts.get("user_turn", 0) == skipped
        return Message("assistant", "") if silent else world.expert(task, facts)

    return demonstrate(world.env(()), task, speak, format=Compact(), max_turns=40)


def credits(assign, *words):
    """Advantages of three rollouts of the first task of at least two turns: exact, without the first call, without the
    last."""
    method = made("cm2", "--model", "tiny", "--assign", assign, *words)
    task = next(one for one in method.world.tasks("train", 20, 0) if len(one.metadata["gold"]) > 1)
    last = len(task.metadata["gold"]) - 1
    group = Group(task, tuple(played(method.world, task, skipped) for skipped in (-1, 0, last)))
    scores = method.reward(group)
    return group, scores, method.credit(group, scores)


def test_units_of_credit_differ_in_the_default_world():
    """A rollout without the last call has the reward of the turns before, and turn credit sees where it was lost."""
    group, scores, whole = credits("trajectory")
    reward = [float(own.sum()) for own in scores.turns]
    assert reward[0] == pytest.approx(1) and 0 == reward[1] < reward[2] < 1
    assert scores.channels["later"][0] > 0 and scores.channels["later"][1] == 0
    _, _, by_turn = credits("turn")
    _, _, by_step = credits("step")
    for one, other in ((whole, by_turn), (whole, by_step)):
        assert any(not np.allclose(a[0], b[0]) for a, b in zip(one.tokens, other.tokens, strict=True))
    spread = [np.ptp(own[0][group[i].sequences[0].mask]) for i, own in enumerate(by_turn.tokens)]
    assert max(spread) > 0.1


def test_conversations_of_the_leaderboard_have_a_checklist():
    group, scores, _ = credits("trajectory", "--world", "bfcl", "--max-turns", "40")
    assert float(scores.turns[0].sum()) == pytest.approx(1) and scores.channels["later"][0] > 0
    assert len(group) == 3
