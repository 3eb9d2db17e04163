"""Constants of the method editscore, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

from handaxe.papers.editscore.net_grader import NetGrader
from handaxe.testing.make_records import make_group, make_trajectory

SHORT = ["--edits", "4", "--passes", "1"]
ASKS_MODEL = True
LAB = "scores drawings of the world canvas alone"
GRADES = {"semantic": "[15, 20]", "quality": "[15]"}
BETTER = {"semantic": "[20, 20]", "quality": "[20]"}


@pytest.mark.parametrize("passes, reward", [("1", 0.6), ("2", 0.7)])
def test_the_reward_is_a_tenth_of_the_mean_of_the_passes(monkeypatch, passes, reward):
    """Overall scores 6 and 8 of two passes."""
    pytest.importorskip("PIL")
    monkeypatch.setattr(
        NetGrader,
        "__call__",
        lambda self, questions, number: [(GRADES, BETTER)[number][ask.about] for ask in questions],
    )
    method = made("editscore", "--edits", "4", "--passes", passes)
    task = method.world.tasks("train", 1, 0)[0]
    group = make_group(task=task, trajectories=[make_trajectory(task=task, id=str(n)) for n in range(2)])
    assert method.reward(group).outcome.tolist() == pytest.approx([reward, reward], abs=1e-9)
