import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.calibrated.brier_confidence import brier_confidence
from handaxe.papers.calibrated.confidence import strip_confidence
from handaxe.papers.calibrated.confident_arithmetic import confident_arithmetic
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CORRECT = exact_match(extract=strip_confidence)
CONTRACT = [{"correct": CORRECT}, {"correct": CORRECT, "correct_above": 0.0}]
LAB = [
    LabCase("brier_confidence(...)", confident_arithmetic, lambda world: brier_confidence(correct=world.correct)),
]
TASK = make_task(answer="4")
SIBLINGS = make_group(
    task=TASK, trajectories=[make_trajectory(texts=[said], task=TASK) for said in ("4 c9", "5 c2", "4")]
)


def scored(reward, *texts):
    members = [make_trajectory(texts=[text], task=TASK) for text in texts]
    return reward(make_group(task=TASK, trajectories=members))


def test_brier_confidence_matches_its_example():
    scores = scored(brier_confidence(correct=CORRECT), "4 c9", "4 c1", "5 c9", "5 c1")
    assert scores.outcome.tolist() == pytest.approx([0.99, 0.19, -0.81, -0.01])
    assert scores.channels["correct"].tolist() == [1, 1, 0, 0]
    assert scores.channels["confidence"].tolist() == [0.9, 0.1, 0.9, 0.1]


def test_brier_confidence_matches_a_slow_loop():
    marks = [f"c{k}" for k in range(11)]
    reward = brier_confidence(correct=CORRECT)
    right, wrong = (scored(reward, *(f"{said} {mark}" for mark in marks)).outcome for said in ("4", "5"))
    assert right.tolist() == pytest.approx([1 - (k / 10 - 1) * (k / 10 - 1) for k in range(11)])
    assert wrong.tolist() == pytest.approx([-k / 10 * k / 10 for k in range(11)])
    assert right[0] == wrong[0] == 0  # no margin: what margin_confidence is there for


def test_an_answer_without_a_confidence_earns_the_minimum():
    assert scored(brier_confidence(correct=CORRECT), "4", "5", "5 c10", "").outcome.tolist() == [-1] * 4
