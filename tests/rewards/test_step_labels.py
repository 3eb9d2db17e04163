import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.turn_norm import turn_norm
from handaxe.judges.noisy import noisy
from handaxe.judges.step_status import step_status
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.step_labels import step_labels
from handaxe.testing.records import make_group, make_scores, make_trajectory

CONTRACT = [
    {"base": exact_match(), "judge": step_status()},
    {"base": exact_match(), "judge": step_status(), "scale": 1.0, "merge": True, "adaptive": True},
    {"base": exact_match(), "judge": noisy(judge=step_status(), flip=0.5)},
]


class Says:
    def __init__(self, *steps):
        self.steps = [np.array(own, np.float64) for own in steps]

    def score_steps(self, group):
        return tuple(self.steps)


def score(labels, right, **knobs):
    group = make_group(
        trajectories=[make_trajectory(texts=["x"] * len(own), id=str(i)) for i, own in enumerate(labels)]
    )
    return step_labels(base=lambda _: make_scores(list(right)), judge=Says(*labels), **knobs)(group)


def turns(scores):
    return [own.tolist() for own in scores.turns]


def test_example():
    scores = score([[1, 1, -1], [-1, 1]], [1, 0])
    assert turns(scores) == [[0.2, 0.2, -0.2], [-0.2, 0.2]] and scores.outcome.tolist() == [1, 0]
    assert [own.tolist() for own in scores.turn_channels["labels"]] == turns(scores)
    rest = [[1], [1], [1]]
    thoughts = {"scale": 1.0, "merge": True, "adaptive": True}
    assert turns(score([[1, 1, -1, -1, 1], *rest], [1, 0, 0, 0], **thoughts))[0] == [0, 0.75, 0, -0.25, 0.75]
    assert turns(score([[1, 1, -1, -1, 1], *rest], [1, 1, 1, 0], **thoughts))[0] == [0, 0.25, 0, -0.75, 0.25]


def test_what_the_judge_left_open_is_decided_by_the_outcome():
    assert turns(score([[0, 0.3, -0.01], [0, 0.3, -0.01]], [1, 0])) == [[0.2, 0.2, -0.2], [-0.2, 0.2, -0.2]]


def test_saying_it_again_earns_nothing_more_once_merged():
    once, often = score([[1], [1] * 6], [1, 1], merge=True).turns
    assert once.sum() == often.sum() == 0.2
    assert score([[1], [1] * 6], [1, 1]).turns[1].sum() == pytest.approx(1.2)


def test_a_slow_twin():
    rng = np.random.default_rng(3)
    labels = [rng.integers(-1, 2, size=n) for n in (1, 4, 7, 2)]
    right = [1, 0, 1, 1]
    scores = score(labels, right, scale=0.5, merge=True, adaptive=True)
    for own, said, correct in zip(scores.turns, labels, right, strict=True):
        signs = [int(label) or (1 if correct else -1) for label in said]
        for k, sign in enumerate(signs):
            last = k + 1 == len(signs) or signs[k + 1] != sign
            worth = 0.5 * 0.25 if sign > 0 else -0.5 * 0.75
            assert own[k] == pytest.approx(worth if last else 0.0)


def test_group_against_group_the_labels_alone_give_a_gradient():
    """Where all outcomes are equal, labels still tell turns apart."""
    labels = [[1, -1], [1, 1]]
    group = make_group(
        trajectories=[make_trajectory(texts=["x"] * len(own), id=str(i)) for i, own in enumerate(labels)]
    )
    scores = step_labels(base=lambda _: make_scores([0.0, 0.0]), judge=Says(*labels))(group)
    said = turn_norm(channel="labels")(group, scores)
    assert said.tokens[0][0].any() and said.tokens[1][0].any()


def test_what_is_refused():
    with pytest.raises(InputError, match="scale=0"):
        step_labels(base=exact_match(), judge=step_status(), scale=0)
    with pytest.raises(InputError, match="lacks"):
        step_labels(base=exact_match(), judge=1.0)
