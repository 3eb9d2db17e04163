import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.calibrated.confidence import strip_confidence
from handaxe.papers.calibrated.confident_arithmetic import confident_arithmetic
from handaxe.papers.calibrated.margin_confidence import margin_confidence
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CORRECT = exact_match(extract=strip_confidence)
CONTRACT = [{"correct": CORRECT}, {"correct": CORRECT, "bonus": 0.2, "penalty": 1.0, "correct_above": 0.0}]
LAB = [
    LabCase("margin_confidence(...)", confident_arithmetic, lambda world: margin_confidence(correct=world.correct)),
]
TASK = make_task(answer="4")
SIBLINGS = make_group(
    task=TASK, trajectories=[make_trajectory(texts=[said], task=TASK) for said in ("4 c9", "5 c2", "4")]
)


def scored(reward, *texts):
    members = [make_trajectory(texts=[text], task=TASK) for text in texts]
    return reward(make_group(task=TASK, trajectories=members))


def test_margin_confidence_matches_its_example():
    scores = scored(margin_confidence(correct=CORRECT), "4 c9", "4 c1", "5 c9", "5 c1")
    assert scores.outcome.tolist() == pytest.approx([1.495, 1.095, -0.405, -0.005])
    assert scores.channels["correct"].tolist() == [1, 1, 0, 0]
    assert scores.channels["confidence"].tolist() == [0.9, 0.1, 0.9, 0.1]


@pytest.mark.parametrize(("bonus", "penalty"), [(0.5, 0.5), (0.1, 1.0), (0.0, 0.0)])
def test_margin_confidence_matches_a_slow_loop_and_ranks_correct_above_incorrect(bonus, penalty):
    marks = [f"c{k}" for k in range(11)]
    reward = margin_confidence(correct=CORRECT, bonus=bonus, penalty=penalty)
    found = scored(reward, *(f"{said} {mark}" for said in ("4", "5") for mark in marks)).outcome
    slow = [1 + bonus * (1 - (1 - k / 10) * (1 - k / 10)) for k in range(11)] + [
        -penalty * k / 10 * k / 10 for k in range(11)
    ]
    assert found.tolist() == pytest.approx(slow)
    assert found[:11].min() >= 1 and found[11:].max() <= 0
    assert np.all(np.diff(found[:11]) >= 0) and np.all(np.diff(found[11:]) <= 0)


def test_an_answer_without_a_confidence_earns_the_minimum():
    assert scored(margin_confidence(correct=CORRECT, penalty=0.7), "4", "5", "5 c10", "").outcome.tolist() == [-0.7] * 4


def test_margin_confidence_rejects_invalid_arguments():
    with pytest.raises(InputError, match="bonus is -1"):
        margin_confidence(correct=CORRECT, bonus=-1)
    with pytest.raises(InputError, match="penalty is nan"):
        margin_confidence(correct=CORRECT, penalty=float("nan"))
