import random

import pytest

from handaxe.core.errors import TaskError
from handaxe.rewards.token_f1 import token_f1
from handaxe.testing.records import make_group, make_task, make_trajectory


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_example():
    assert outcome(token_f1(), "paris", "paris france") == [pytest.approx(0.6667, abs=5e-5)]


def test_best_of_several_answers():
    assert outcome(token_f1(), ["london", "paris france"], "paris france", "paris", "rome") == [
        1,
        pytest.approx(2 / 3),
        0,
    ]


def test_yes_and_no_match_as_a_whole_or_not_at_all():
    assert outcome(token_f1(), "yes", "yes", "Yes!", "yes indeed", "no") == [1, 1, 0, 0]
    assert outcome(token_f1(), "yes sir", "yes") == [0]
    assert outcome(token_f1(whole=frozenset()), "yes", "yes indeed") == [pytest.approx(2 / 3)]


def test_nothing_said():
    assert outcome(token_f1(), "paris", "", "the") == [0, 0]
    with pytest.raises(TaskError):
        outcome(token_f1(), None, "paris")


def slow_f1(said, gold):
    left, shared = list(gold), 0
    for word in said:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def test_against_a_slow_loop():
    draw = random.Random(0)
    for _ in range(200):
        said, gold = ([draw.choice("bcde") for _ in range(draw.randint(1, 6))] for _ in range(2))
        assert outcome(token_f1(), " ".join(gold), " ".join(said)) == [pytest.approx(slow_f1(said, gold))]
