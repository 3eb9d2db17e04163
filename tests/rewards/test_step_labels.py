import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.attack_trials import LabCase
from handaxe.judges.noisy import noisy
from handaxe.judges.step_status import step_status
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.step_labels import step_labels
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.worlds.hops.world import hops

CONTRACT = [
    {"base": exact_match(), "judge": step_status()},
    {"base": exact_match(), "judge": step_status(), "scale": 1.0, "merge": True, "adaptive": True},
    {"base": exact_match(), "judge": noisy(judge=step_status(), flip=0.5)},
]
LAB = [
    LabCase(
        "step_labels(judge=step_status())",
        hops,
        lambda world: step_labels(base=world.correct, judge=step_status()),
        why=(
            "Per-turn rewards are summed here, so many turns with successful calls outweigh the "
            "outcome. `outcome_bounded_steps` bounds the sum by the outcome."
        ),
    ),
    LabCase(
        "step_labels(merge=True, adaptive=True)",
        hops,
        lambda world: step_labels(base=world.correct, judge=step_status(), scale=1.0, merge=True, adaptive=True),
    ),
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


def test_step_labels_matches_the_docstring_example():
    scores = score([[1, 1, -1], [-1, 1]], [1, 0])
    assert turns(scores) == [[0.2, 0.2, -0.2], [-0.2, 0.2]] and scores.outcome.tolist() == [1, 0]
    assert [own.tolist() for own in scores.turn_channels["labels"]] == turns(scores)
    rest = [[1], [1], [1]]
    thoughts = {"scale": 1.0, "merge": True, "adaptive": True}
    assert turns(score([[1, 1, -1, -1, 1], *rest], [1, 0, 0, 0], **thoughts))[0] == [0, 0.75, 0, -0.25, 0.75]
    assert turns(score([[1, 1, -1, -1, 1], *rest], [1, 1, 1, 0], **thoughts))[0] == [0, 0.25, 0, -0.75, 0.25]


def test_a_label_of_zero_takes_the_sign_of_the_outcome():
    assert turns(score([[0, 0.3, -0.01], [0, 0.3, -0.01]], [1, 0])) == [[0.2, 0.2, -0.2], [-0.2, 0.2, -0.2]]


def test_merged_repeats_earn_nothing_more():
    once, often = score([[1], [1] * 6], [1, 1], merge=True).turns
    assert once.sum() == often.sum() == 0.2
    assert score([[1], [1] * 6], [1, 1]).turns[1].sum() == pytest.approx(1.2)


def test_step_labels_equals_a_slow_loop():
    rng = np.random.default_rng(3)
    labels = [rng.integers(-1, 2, size=n) for n in (1, 4, 7, 2)]
    right = [1, 0, 1, 1]
    scores = score(labels, right, scale=0.5, merge=True, adaptive=True)
    for own, answer, correct in zip(scores.turns, labels, right, strict=True):
        signs = [int(label) or (1 if correct else -1) for label in answer]
        for k, sign in enumerate(signs):
            last = k + 1 == len(signs) or signs[k + 1] != sign
            worth = 0.5 * 0.25 if sign > 0 else -0.5 * 0.75
            assert own[k] == pytest.approx(worth if last else 0.0)


def test_labels_give_a_gradient_at_equal_outcomes():
    """At equal outcomes, labels still distinguish turns."""
    labels = [[1, -1], [1, 1]]
    group = make_group(
        trajectories=[make_trajectory(texts=["x"] * len(own), id=str(i)) for i, own in enumerate(labels)]
    )
    scores = step_labels(base=lambda _: make_scores([0.0, 0.0]), judge=Says(*labels))(group)
    answer = turn_norm(channel="labels")(group, scores)
    assert answer.tokens[0][0].any() and answer.tokens[1][0].any()


def test_wrong_options_are_errors():
    with pytest.raises(InputError, match="scale=0"):
        step_labels(base=exact_match(), judge=step_status(), scale=0)
    with pytest.raises(InputError, match="lacks"):
        step_labels(base=exact_match(), judge=1.0)
