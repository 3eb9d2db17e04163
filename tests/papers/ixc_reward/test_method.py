"""Constants of the method ixc_reward, read by the tests of every method (tests/papers)."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.judges.drawing_model import DrawingModel
from handaxe.testing.make_records import make_group, make_trajectory

SHORT = ["--labels", "32", "--lessons", "8"]
LAB = "the reward model scores drawings of the world canvas alone"


def test_the_reward_is_the_normalized_score(monkeypatch):
    monkeypatch.setattr(DrawingModel, "score", lambda self, group: np.array([1.0, 3.0]))
    method = made("ixc_reward")
    task = method.world.tasks("train", 1, 0)[0]
    group = make_group(task=task, trajectories=[make_trajectory(task=task, id=str(n)) for n in range(2)])
    assert method.reward(group).outcome.tolist() == pytest.approx([-1, 1], abs=1e-9)
    assert len(method.stages) == 1
