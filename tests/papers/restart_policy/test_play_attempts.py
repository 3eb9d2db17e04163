import pytest

from handaxe.core.records import Message, ToolCall
from handaxe.methods.lookup import find
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.restart_policy.play_attempts import AttemptCounts, AttemptPlayer, count_attempts, play_attempts
from handaxe.papers.restart_policy.retry_attempts import GIVEN_UP
from handaxe.testing.make_records import make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine


def attempt(turns, ending="completed"):
    return make_trajectory(texts=[""] * turns, calls=[["act"]] * turns, replies=[["x"]] * turns, ending=ending)


def test_the_counts_by_hand():
    found = [[attempt(3, GIVEN_UP), attempt(5)], [attempt(12)]]
    counts = count_attempts(found, lambda one: len(one.turns) < 6)
    assert counts == AttemptCounts(turns=20, successes=1, tasks=2, attempts=3, interrupted=1)
    assert counts.rate == 5
    assert count_attempts(found, lambda one: False).rate == 0


@pytest.fixture(scope="module")
def player():
    world = find("worlds", "calls")()
    script = [ToolCall("compute", {"expression": "1+1"}), Message("assistant", "2").content]
    (task,) = world.tasks("test", 1, 0)
    env = world.env(world.tools)(task)
    engine = ScriptedEngine(Compact(), script, tools=env.start()[1])
    return AttemptPlayer(world, engine, Compact(), max_turns=3, max_tokens=64)


def test_tasks_are_tried_up_to_the_limit(player):
    found = play_attempts(player, count=3, seeds=[5, 6], most=2)
    for seed, own in zip((5, 6), found, strict=True):
        assert [len(attempts) for attempts in own] == [2, 2, 2]
        assert not any(player.succeeded(one) for attempts in own for one in attempts)
        assert [attempts[0].task.id for attempts in own] == [task.id for task in player.world.tasks("test", 3, seed)]
