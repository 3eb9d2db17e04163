import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.judges.step_status import step_status
from handaxe.rewards.consistent_share import consistent_share
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.records import make_group, make_scores, make_trajectory

CONTRACT = [{"base": exact_match(), "judge": step_status()}]


class Says:
    def __init__(self, *steps):
        self.steps = [np.array(own, np.float64) for own in steps]

    def score_steps(self, group):
        return tuple(self.steps)


def score(labels, right, **knobs):
    layouts = [{"texts": ["x"] * len(own)} if len(own) else {"layouts": ["Ut"]} for own in labels]
    group = make_group(trajectories=[make_trajectory(id=str(i), **told) for i, told in enumerate(layouts)])
    return consistent_share(base=lambda _: make_scores(list(right)), judge=Says(*labels), **knobs)(group)


def test_example():
    scores = score([[1, 1, -1], [-1, 1]], [1, 0])
    assert scores.turns[0].tolist() == pytest.approx([0.4545, 0.4545, 0.0909], abs=5e-5)
    assert scores.turns[1].tolist() == pytest.approx([-0.8333, -0.1667], abs=5e-5)
    assert scores.outcome.tolist() == [0, 0] and scores.channels["base"].tolist() == [1, 0]


def test_an_attempt_comes_to_one_or_minus_one_whatever_is_said_of_it():
    rng = np.random.default_rng(1)
    labels = [rng.integers(-1, 2, size=n) for n in (1, 5, 9, 0, 0)]
    right = [1, 0, 1, 1, 0]
    for inconsistent in (0.0, 0.2, 1.0):
        scores = score(labels, right, inconsistent=inconsistent)
        for own, outcome, said, correct in zip(scores.turns, scores.outcome, labels, right, strict=True):
            assert own.sum() + outcome == pytest.approx(1 if correct else -1)
            whole = 1 if correct else -1
            weights = [1.0 if int(label) in (0, whole) else inconsistent for label in said]
            weights = weights if any(weights) else [1.0] * len(weights)
            assert own.tolist() == pytest.approx([whole * weight / sum(weights) for weight in weights])


def test_what_is_refused():
    with pytest.raises(InputError, match="inconsistent=1.5"):
        consistent_share(base=exact_match(), judge=step_status(), inconsistent=1.5)
