from itertools import permutations

import numpy as np
import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reward_anything.principles import principles
from handaxe.papers.reward_anything.rank_agreement import pair_agreement, rank_agreement
from handaxe.testing.make_records import make_group, make_task, make_trajectory

GOLD = {"a": 5, "b": 3, "c": 1}
REPLIES = ['{"scores":{"a":4,"b":4,"c":2}}', '{"scores":{"a":5,"b":3,"c":1}}', "a b c", ""]
SIBLINGS = make_group(
    task=make_task(answer=GOLD),
    trajectories=[make_trajectory(texts=[text], task=make_task(answer=GOLD)) for text in REPLIES],
)
LAB = [LabCase("rank_agreement()", principles, lambda world: rank_agreement())]


def test_the_worked_example():
    """Weights 3, 5 and 3; the tie of a and b costs half of 3."""
    assert pair_agreement({"a": 4, "b": 4, "c": 2}, GOLD) == pytest.approx(1 - 1.5 / 11)
    assert pair_agreement({"a": 3, "b": 5, "c": 1}, GOLD) == pytest.approx(1 - 3 / 11)


@pytest.mark.parametrize("scores, expected", [({}, 0), ({"a": 5}, 0), ({"a": 5, "z": 1}, 0), ({"a": 2, "c": 1}, 1)])
def test_only_pairs_with_both_scores_count(scores, expected):
    assert pair_agreement(scores, GOLD) == expected


def test_any_order_of_tied_references_agrees():
    assert pair_agreement({"a": 1, "b": 5}, {"a": 3, "b": 3}) == pair_agreement({"a": 2, "b": 2}, {"a": 3, "b": 3}) == 1


@pytest.mark.parametrize("seed", range(20))
def test_agreement_equals_a_loop_over_signs(seed):
    rng = np.random.default_rng(seed)
    names = "abcd"
    gold, scores = ({name: int(rng.integers(1, 6)) for name in names} for _ in range(2))
    lost = total = 0.0
    for i in range(4):
        for j in range(i):
            g, s = gold[names[i]] - gold[names[j]], scores[names[i]] - scores[names[j]]
            total += 1 + abs(g)
            lost += (1 + abs(g)) * {-1: 1.0, 0: 0.5, 1: 0.0}[int(np.sign(s) * np.sign(g))] * (g != 0)
    assert pair_agreement(scores, gold) == pytest.approx(1 - lost / total, abs=1e-12)
    assert pair_agreement(dict(reversed(scores.items())), gold) == pytest.approx(1 - lost / total, abs=1e-12)


def test_agreement_with_the_reversed_reference_adds_up_to_one():
    for order in permutations((1, 2, 4)):
        scores = dict(zip("abc", order, strict=True))
        turned = {name: -value for name, value in scores.items()}
        assert pair_agreement(scores, GOLD) + pair_agreement(turned, GOLD) == pytest.approx(1)


def test_the_reward_reads_the_reply():
    task = make_task(answer=GOLD)
    texts = ['<think>x</think>{"scores":{"a":4,"b":4,"c":2}}', '{"scores":{"a":5,"b":3,"c":1}}', "a b c", ""]
    group = make_group(trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    assert rank_agreement()(group).outcome.tolist() == pytest.approx([1 - 1.5 / 11, 1, 0, 0])
