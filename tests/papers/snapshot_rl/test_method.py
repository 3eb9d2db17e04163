"""Constants of the method snapshot_rl, read by the tests of every method (tests/papers), and its parts together."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.models.chat_formats.compact import Compact
from handaxe.training.stages.context import make_site

pytest.importorskip("minigrid")
pytest.importorskip("sklearn")
SHORT = ["--episodes", "16", "--best", "8", "--snapshot-steps", "1"]
REMEMBERS = "the snapshots drawn for steps"
RESUMED = ["--episodes", "16", "--best", "8", "--snapshot-steps", "2"]


@pytest.fixture(scope="module")
def method():
    return made("snapshot_rl", "--episodes", "8", "--best", "4", "--clusters", "3", "--snapshot-steps", "2")


@pytest.fixture(scope="module")
def filled(method):
    world = method.world
    (row,) = method.stages[-1](make_site(engine=None, format=Compact(), env=world.env(world.tools), seed=5))
    return row


def test_the_stage_keeps_the_best_rollouts_of_the_expert(method, filled):
    (store,) = method.learners
    assert filled["episodes"] == 8 and 0 < filled["solved"] < 1, "the expert fails now and then"
    assert len({one.trajectory.id for one in store.snapshots}) == 4
    assert filled["classes"] == 3 and sum(map(len, store.classes)) == len(store.snapshots) == filled["snapshots"]
    wins = [one.trajectory.env["state"]["GridGame"]["won"] for one in store.snapshots]
    assert np.mean(wins) > filled["solved"], "rollouts with reward come first"


def test_first_steps_play_tasks_of_snapshots_and_later_steps_the_usual_tasks(method, filled):
    (store,) = method.learners
    world = method.world
    usual = world.tasks("train", 12, 0)
    curriculum = method.tasks(usual, 0)
    own = {one.trajectory.task.id for one in store.snapshots}
    first = [task.id for task in curriculum.next(0, 3)]
    assert set(first) <= own and len(set(first)) == 3
    assert first == [task.id for task in curriculum.next(0, 3)], "a repeated request"
    assert {task.id for task in curriculum.next(2, 3)} <= {task.id for task in usual}


def test_a_seed_fixes_the_draws(method, filled):
    (store,) = method.learners
    drawn = {seed: [[one.id for one in store.draw(step, 3, seed=seed)] for step in range(20)] for seed in (3, 4)}
    assert drawn[3] != drawn[4]
    assert drawn[3] == [[one.id for one in store.draw(step, 3, seed=3)] for step in range(20)]
