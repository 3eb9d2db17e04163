"""Constants of the method reward_dance, read by the tests of every method (tests/papers)."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.judges.drawing_model import DrawingModel
from handaxe.papers.reward_dance.yes_judge import Compared
from handaxe.testing.make_records import make_group, make_trajectory

SHORT = ["--backbone", "tiny_vision", "--labels", "32", "--train-tasks", "4", "--candidates", "2"]
LAB = "the judge scores drawings of the world canvas alone"


@pytest.mark.parametrize("scorer, reward", [("compared", [1.0, 0.0]), ("head", [0.731059, 0.5])])
def test_the_scorer_decides_the_reward(monkeypatch, scorer, reward):
    for scored in (DrawingModel, Compared):
        monkeypatch.setattr(scored, "score", lambda self, group: np.array([1.0, 0.0]))
    method = made("reward_dance", "--scorer", scorer)
    task = method.world.tasks("train", 1, 0)[0]
    group = make_group(task=task, trajectories=[make_trajectory(task=task, id=str(n)) for n in range(2)])
    assert method.reward(group).outcome.tolist() == pytest.approx(reward, abs=1e-6)
