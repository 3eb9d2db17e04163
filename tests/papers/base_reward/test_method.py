"""Constants of the method base_reward, read by the tests of every method (tests/papers)."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.core.records import Task
from handaxe.judges.drawing_model import DrawingModel
from handaxe.testing.make_records import make_group, make_trajectory

SHORT = ["--labels", "32"]
LAB = "the reward model scores drawings of the world canvas alone"


@pytest.mark.parametrize("kind, reward", [("make", [0.731059, 0.5]), ("change", [0.0, 0.0])])
def test_the_rule_decides_where_there_is_one_and_the_sigmoid_elsewhere(monkeypatch, kind, reward):
    monkeypatch.setattr(DrawingModel, "score", lambda self, group: np.array([1.0, 0.0]))
    task = Task("t", (), metadata={"kind": kind, "items": [], "wanted": [[1, "red", "disc", 2, 4]], "program": ""})
    group = make_group(task=task, trajectories=[make_trajectory(task=task, id=str(n)) for n in range(2)])
    assert made("base_reward").reward(group).outcome.tolist() == pytest.approx(reward, abs=1e-6)
