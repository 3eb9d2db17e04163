import math

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.oni.message_reward import Classified, Ranked, Retrieved, _preference, message_reward

LABELS = {"a1 +key": 1.0, "walls": 0.0, "f2 key": 0.0, "open f1": 1.0}


class FixedNet:
    """Scores by a table; learns nothing."""

    def __init__(self, table):
        self.table = table
        self.batches = []

    def scores(self, messages):
        return np.array([self.table.get(one, 0.0) for one in messages], np.float64)

    def fit(self, batches):
        self.batches = batches
        return 0.0


def test_retrieval_returns_labels_and_zero_for_unlabelled_messages():
    reward = Retrieved()
    assert reward.scores(["a1 +key"]).tolist() == [0]
    reward.learn(LABELS, [], step=0)
    assert reward.scores(["a1 +key", "walls", "new"]).tolist() == [1, 0, 0]


def test_classification_thresholds_the_probability_after_the_first_label():
    reward = Classified(FixedNet({"a": 0.4, "b": -0.1}), 0.5, 1)
    assert reward.scores(["a", "b"]).tolist() == [0, 0]
    reward.learn({"a": 1.0}, [], step=0)
    assert reward.scores(["a", "b"]).tolist() == [1, 0], "sigmoid(0.4) = 0.5987, sigmoid(-0.1) = 0.4750"
    strict = Classified(FixedNet({"a": 0.4}), 0.6, 1)
    strict.learn({"a": 1.0}, [], step=0)
    assert strict.scores(["a"]).tolist() == [0]


def test_ranking_normalizes_by_all_scores_so_far_and_cuts():
    reward = Ranked(FixedNet({"a": 3.0}), -0.5, 1)
    assert reward.scores(["a"]).tolist() == [0]
    reward.learn({"a": 1.0, "b": 0.0}, ["a", "b"], step=0)
    reward.learn({"a": 1.0, "b": 0.0}, ["b"], step=1)
    assert reward.scores(["a", "b"]) == pytest.approx([math.sqrt(2), 0]), "mean 1, std sqrt(2); -0.7071 is cut"
    mild = Ranked(FixedNet({"a": 3.0}), -0.8, 1)
    mild.learn({"a": 1.0, "b": 0.0}, ["a", "b", "b"], step=0)
    assert mild.scores(["b"]) == pytest.approx([-math.sqrt(0.5)])


def test_the_loss_of_a_pair_equals_the_worked_example():
    scores = torch.tensor([1.0, 0.5], dtype=torch.float64)
    for prefers, loss in ((1.0, 0.474077), (0.5, 0.724077), (0.0, 0.974077)):
        assert float(_preference(np.array([prefers]))(scores)) == pytest.approx(loss, abs=1e-6)


def test_ranking_takes_soft_labels_from_unequal_and_equal_labels():
    net = FixedNet({})
    Ranked(net, -0.5, 1).learn(LABELS, [], step=4)
    ((messages, loss),) = net.batches
    half = len(messages) // 2
    slow = []
    score = torch.randn(len(messages), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for k in range(half):
        one, two = LABELS[messages[k]], LABELS[messages[half + k]]
        target = 1.0 if one > two else 0.0 if one < two else 0.5
        chance = 1 / (1 + math.exp(float(score[half + k] - score[k])))
        slow.append(-target * math.log(chance) - (1 - target) * math.log(1 - chance))
    assert float(loss(score)) == pytest.approx(sum(slow) / half, abs=1e-9)


@pytest.mark.parametrize("variant", ["retrieval", "classification", "ranking"])
def test_variants_learn_the_labels_and_round_trip(variant):
    reward = message_reward(variant)
    for step in range(3):
        reward.learn(LABELS, list(LABELS), step=step)
    found = reward.scores(list(LABELS))
    assert min(found[0], found[3]) > max(found[1], found[2])
    copy = message_reward(variant)
    copy.load_state_dict(reward.state_dict())
    assert copy.scores(list(LABELS)).tolist() == found.tolist()


@pytest.mark.parametrize(
    "arguments, words",
    [(("voting",), "retrieval, classification or ranking"), (("ranking", 1.5), "threshold between 0 and 1")],
)
def test_bad_arguments_are_refused(arguments, words):
    name, *threshold = arguments
    with pytest.raises(InputError, match=words):
        message_reward(name, **({"threshold": threshold[0]} if threshold else {}))
