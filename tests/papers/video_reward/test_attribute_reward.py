import numpy as np
import pytest

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.papers.video_reward.attribute_reward import AttributeReward, pair_loss


def tensors(*values):
    return [torch.tensor(one, dtype=torch.float64) for one in values]


@pytest.mark.parametrize("link, label, value", [("ties", 1, 1.04359), ("ties", 0, 0.54597), ("dropped", 1, 0.31326)])
def test_losses_by_hand(link, label, value):
    found = pair_loss(link, *tensors([[1, 0]], [label], [[5, 1]]))
    assert float(found) == pytest.approx(value, abs=1e-5)
    other = pair_loss(link, *tensors([[0, 1]], [-label], [[5, 1]]))
    assert float(other) == pytest.approx(value, abs=1e-5)


def test_ties_are_dropped_and_ratings_are_centred():
    assert float(pair_loss("dropped", *tensors([[1, 0]], [0], [[3, 3]]))) == 0
    assert float(pair_loss("regression", *tensors([[1, 0]], [0], [[5, 1]]))) == pytest.approx((1 + 4) / 2)


def test_a_score_of_the_picture_alone_does_not_read_the_request():
    rng = np.random.default_rng(0)
    input_NF = rng.normal(size=(6, 7))
    moved_NF = input_NF.copy()
    moved_NF[:, 4:] += 1
    for separate in (True, False):
        model = AttributeReward(4, 3, needs=(True, False), separate=separate)
        change_A = np.abs(model.scores(moved_NF) - model.scores(input_NF)).max(0)
        assert change_A[0] > 1e-3 and (change_A[1] == 0) == separate


@pytest.mark.parametrize("separate", [True, False])
def test_a_fit_learns_a_quality(separate):
    rng = np.random.default_rng(0)
    input_P2F = rng.normal(size=(60, 2, 3))
    label_PA = np.sign(input_P2F[:, 0, :1] - input_P2F[:, 1, :1])
    model = AttributeReward(2, 1, needs=(False,), separate=separate)
    model.fit("ties", input_P2F, label_PA, np.zeros((60, 2, 1)), steps=60)
    score_P2 = model.scores(input_P2F.reshape(120, 3)).reshape(60, 2)
    assert (np.sign(score_P2[:, 0] - score_P2[:, 1]) == label_PA[:, 0]).mean() > 0.9


def test_an_unknown_link_is_an_error():
    with pytest.raises(InputError, match="link is one of ties, dropped, regression"):
        pair_loss("probit", *tensors([[1, 0]], [1], [[3, 3]]))
