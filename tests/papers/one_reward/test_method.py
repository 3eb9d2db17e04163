"""Constants of the method one_reward, read by the tests of every method (tests/papers)."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.papers.one_reward.tagged_judge import TaggedJudge
from handaxe.testing.make_records import make_group, make_trajectory

SHORT = ["--questions", "9"]
LAB = "scores drawings of the world canvas alone"
SCORES = {"followed": [1.0, 0.0], "kept": [0.0, 1.0]}


@pytest.mark.slow
@pytest.mark.parametrize("kept, rewards", [("0", {0.731059}), ("1", {0.731059, 0.268941})])
def test_the_reward_is_the_yes_by_a_criterion_with_a_weight(monkeypatch, kept, rewards):
    monkeypatch.setattr(TaggedJudge, "fit", lambda self, questions: 0.0)
    monkeypatch.setattr(TaggedJudge, "scores", lambda self, pictures, criterion: np.array(SCORES[criterion]))
    method = made("one_reward", "--kept", kept)
    found = set()
    for task in method.world.tasks("train", 12, 0):
        group = make_group(task=task, trajectories=[make_trajectory(task=task, id=str(n)) for n in range(2)])
        found.add(round(float(method.reward(group).outcome[0]), 6))
    assert found == rewards
