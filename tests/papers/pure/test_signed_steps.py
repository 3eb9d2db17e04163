import numpy as np
import pytest

from handaxe.papers.pure.signed_steps import signed_steps
from handaxe.testing.make_records import make_group, make_trajectory


class Probabilities:
    """Scores turn n of any rollout by the n-th probability, and later turns by 0.5."""

    def __init__(self, *values):
        self.values = values

    def score(self, group):
        return np.array([own.sum() for own in self.score_steps(group)])

    def score_steps(self, group):
        return tuple(np.array([*self.values, *[0.5] * len(one.turns)][: len(one.turns)]) for one in group)


CONTRACT = [{"judge": Probabilities(0.9, 0.2)}]
LAB = "scales the scores of another judge, which has the row"


def test_probabilities_become_differences():
    group = make_group(trajectories=[make_trajectory(texts=["a", "b", "c"]), make_trajectory(texts=["a"])])
    judge = signed_steps(judge=Probabilities(0.9, 0.5, 0.2))
    first, second = judge.score_steps(group)
    assert first.tolist() == pytest.approx([0.8, 0.0, -0.6], abs=1e-12)
    assert second.tolist() == pytest.approx([0.8], abs=1e-12)
    assert judge.score(group).tolist() == pytest.approx([0.2, 0.8], abs=1e-12)
