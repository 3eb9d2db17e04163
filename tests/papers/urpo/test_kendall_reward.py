from itertools import product

import numpy as np
import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.urpo.kendall_reward import kendall_reward, kendall_tau, reply_tau
from handaxe.papers.urpo.requests import rankings
from handaxe.testing.make_records import make_group, make_task, make_trajectory

TASK = make_task(answer=[3, 2, 1])
LAB = [LabCase("kendall_reward()", rankings, lambda world: kendall_reward())]


def reply(text):
    return make_trajectory(texts=[text], task=TASK)


REPLIES = ["a5 b5 c4", "a3 b2 c1", "a1 b2 c3", "good", ""]
SIBLINGS = make_group(task=TASK, trajectories=[reply(text) for text in REPLIES])


@pytest.mark.parametrize("scores, tau", [([9, 9, 4], 2 / 3), ([1, 2, 3], -1), ([3, 2, 1], 1), ([5, 5, 5], 0)])
def test_the_worked_example(scores, tau):
    """Reference 3, 2, 1; scores 9, 9, 4: a tie, and two pairs in order."""
    assert kendall_tau(scores, [3, 2, 1]) == pytest.approx(tau, abs=1e-12)


def test_two_answers_are_right_wrong_or_tied():
    assert [kendall_tau(scores, [5, 1]) for scores in ([4, 2], [2, 4], [3, 3])] == [1, -1, 0]


def test_pairs_with_equal_references_do_not_count():
    assert kendall_tau([1, 5, 3], [2, 2, 1]) == pytest.approx(0)
    assert kendall_tau([1, 2], [4, 4]) == 0


@pytest.mark.parametrize("seed", range(20))
def test_tau_equals_a_loop_over_ordered_pairs(seed):
    rng = np.random.default_rng(seed)
    gold, scores = rng.integers(1, 6, 5).tolist(), rng.integers(1, 6, 5).tolist()
    agreed = counted = 0
    for i, j in product(range(5), repeat=2):
        if gold[i] > gold[j]:
            counted += 1
            agreed += 1 if scores[i] > scores[j] else -1 if scores[i] < scores[j] else 0
    expected = agreed / counted if counted else 0
    assert kendall_tau(scores, gold) == pytest.approx(expected, abs=1e-12)
    assert kendall_tau([-one for one in scores], gold) == pytest.approx(-expected, abs=1e-12)


def test_a_reply_without_a_score_for_each_answer_earns_the_reverse_order():
    assert kendall_reward()(SIBLINGS).outcome.tolist() == pytest.approx([2 / 3, 1, -1, -1, -1])
    assert reply_tau(reply("a3 b2")) == reply_tau(reply("a3 b2 c1 d1")) == -1
