"""Every role in a sequence of its own, in training and in evaluations."""

import pytest

pytest.importorskip("bm25s")
from helpers.methods import made

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.chain_of_agents.role_hops import role_hops
from handaxe.rollouts.in_roles import role_turns
from handaxe.worlds.parts.demonstrate import demonstrate


def test_all_roles_play_and_no_lesson_is_taught():
    method, distilled = made("explicit_agents"), made("chain_of_agents")
    assert method.rollout is method.evaluate_rollout and method.stages == ()
    world = role_hops(lengths=(2,), errors=0.0, size=40)
    task = world.tasks("train", 1, 0)[0]
    for one, sequences in ((method, 6), (distilled, 1)):
        played = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=one.rollout)
        assert len(played.sequences) == sequences, "a planner, a worker and a checker for each of two facts"
        roles = [turn.role for turn in role_turns(played)]
        assert roles == ["planner", "worker", "checker"] * (sequences // 3)
