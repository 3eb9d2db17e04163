import random

import pytest

from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.bleuberi.descriptions import descriptions
from handaxe.rewards.token_f1 import token_f1
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [
    LabCase("token_f1()", descriptions, lambda world: token_f1()),
]


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_token_f1_matches_the_docstring_example():
    assert outcome(token_f1(), "paris", "paris france") == [pytest.approx(0.6667, abs=5e-5)]


def test_the_best_of_several_references_counts():
    assert outcome(token_f1(), ["london", "paris france"], "paris france", "paris", "rome") == [
        1,
        pytest.approx(2 / 3),
        0,
    ]


def test_yes_and_no_must_match_exactly():
    assert outcome(token_f1(), "yes", "yes", "Yes!", "yes indeed", "no") == [1, 1, 0, 0]
    assert outcome(token_f1(), "yes sir", "yes") == [0]
    assert outcome(token_f1(whole=frozenset()), "yes", "yes indeed") == [pytest.approx(2 / 3)]


def test_an_empty_answer_scores_zero():
    assert outcome(token_f1(), "paris", "", "the") == [0, 0]
    with pytest.raises(TaskError):
        outcome(token_f1(), None, "paris")


def slow_f1(answer, gold):
    left, shared = list(gold), 0
    for word in answer:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(answer), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def test_token_f1_equals_a_slow_loop():
    draw = random.Random(0)
    for _ in range(200):
        answer, gold = ([draw.choice("bcde") for _ in range(draw.randint(1, 6))] for _ in range(2))
        assert outcome(token_f1(), " ".join(gold), " ".join(answer)) == [pytest.approx(slow_f1(answer, gold))]
