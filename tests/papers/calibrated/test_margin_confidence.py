import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.calibrated.confidence import without_confidence
from handaxe.papers.calibrated.margin_confidence import margin_confidence
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.records import make_group, make_task, make_trajectory

CORRECT = exact_match(extract=without_confidence)
CONTRACT = [{"correct": CORRECT}, {"correct": CORRECT, "right": 0.2, "wrong": 1.0, "correct_above": 0.0}]
TASK = make_task(answer="4")
SIBLINGS = make_group(
    task=TASK, trajectories=[make_trajectory(texts=[said], task=TASK) for said in ("4 c9", "5 c2", "4")]
)


def scored(reward, *texts):
    members = [make_trajectory(texts=[text], task=TASK) for text in texts]
    return reward(make_group(task=TASK, trajectories=members))


def test_example():
    scores = scored(margin_confidence(correct=CORRECT), "4 c9", "4 c1", "5 c9", "5 c1")
    assert scores.outcome.tolist() == pytest.approx([1.495, 1.095, -0.405, -0.005])
    assert scores.channels["correct"].tolist() == [1, 1, 0, 0]
    assert scores.channels["confidence"].tolist() == [0.9, 0.1, 0.9, 0.1]


@pytest.mark.parametrize(("right", "wrong"), [(0.5, 0.5), (0.1, 1.0), (0.0, 0.0)])
def test_a_slow_loop_says_the_same_and_every_right_answer_is_worth_more_than_any_wrong_one(right, wrong):
    marks = [f"c{k}" for k in range(11)]
    reward = margin_confidence(correct=CORRECT, right=right, wrong=wrong)
    found = scored(reward, *(f"{said} {mark}" for said in ("4", "5") for mark in marks)).outcome
    slow = [1 + right * (1 - (1 - k / 10) * (1 - k / 10)) for k in range(11)] + [
        -wrong * k / 10 * k / 10 for k in range(11)
    ]
    assert found.tolist() == pytest.approx(slow)
    assert found[:11].min() >= 1 and found[11:].max() <= 0
    assert np.all(np.diff(found[:11]) >= 0) and np.all(np.diff(found[11:]) <= 0)


def test_without_a_confidence_it_is_the_least():
    assert scored(margin_confidence(correct=CORRECT, wrong=0.7), "4", "5", "5 c10", "").outcome.tolist() == [-0.7] * 4


def test_what_is_refused():
    with pytest.raises(InputError, match="right is -1"):
        margin_confidence(correct=CORRECT, right=-1)
    with pytest.raises(InputError, match="wrong is nan"):
        margin_confidence(correct=CORRECT, wrong=float("nan"))
