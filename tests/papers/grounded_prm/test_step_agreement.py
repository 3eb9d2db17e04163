import numpy as np
import pytest

from handaxe.core.records import Advantages, RatedGroup, Scores
from handaxe.papers.grounded_prm.step_agreement import step_agreement
from handaxe.testing.make_records import make_group, make_trajectory


class Says:
    def __init__(self, *steps):
        self.steps = steps

    def score_steps(self, group):
        return tuple(np.array(own, np.float64) for own in self.steps)


def figures(judge, truth):
    group = make_group(trajectories=[make_trajectory(texts=["x"] * len(own), id=str(i)) for i, own in enumerate(truth)])
    rated = RatedGroup.of(group, Scores(np.zeros(len(group))), Advantages(()))
    return step_agreement(judge=Says(*judge), truth=Says(*truth)).learn([rated], step=0)


def test_step_agreement_matches_its_example():
    found = figures([(0.2, -0.4), (-0.1, 0.3)], [(1, -1), (1, -1)])
    assert found == dict.fromkeys(("precision", "recall", "f1", "right", "wrong"), 0.5)


def test_step_agreement_matches_a_slow_count():
    rng = np.random.default_rng(0)
    said, so = rng.normal(size=30), rng.choice([-1, 0, 1], 30)
    found = figures([said], [so])
    both = sum(a < 0 and b < 0 for a, b in zip(said, so))
    called = sum(a < 0 and b != 0 for a, b in zip(said, so))
    wrong = sum(b < 0 for b in so)
    assert found["precision"] == pytest.approx(both / called) and found["recall"] == pytest.approx(both / wrong)
    assert found["f1"] == pytest.approx(2 / (called / both + wrong / both))


def test_f1_is_0_without_incorrect_steps_and_missing_without_steps():
    assert figures([(1.0,)], [(1,)]) == {"precision": 0, "recall": 0, "f1": 0, "right": 1, "wrong": 0}
    assert figures([()], [()]) == {} and step_agreement(judge=Says(), truth=Says()).learn([], step=0) == {}
