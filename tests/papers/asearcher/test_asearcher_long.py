"""Constants of the method asearcher_long, read by the tests of every method (tests/papers), and its limits."""

import pytest
from helpers.methods import made

pytest.importorskip("bm25s")

from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate


def test_training_and_evaluation_have_limits_of_their_own(tmp_path, monkeypatch):
    """Trails of eight searches: nine turns fit the limit of evaluations alone."""
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    method = made("asearcher_long", "--train-turns", "5", "--world.lengths", "8", "--world.size", "40")
    world, endings = method.world, []
    (task,) = world.tasks("train", 1, 0)
    for rollout in (method.rollout, method.evaluate_rollout):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=rollout)
        endings.append((one.ending.kind, len(one.turns)))
    assert endings == [("truncated", 5), ("completed", 9)] and method.async_config.staleness == 4
