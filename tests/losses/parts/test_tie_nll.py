from math import exp, log

import pytest

from handaxe.core.deferred import torch
from handaxe.losses.parts.tie_nll import tie_nll


@pytest.mark.parametrize("margin, strict, value", [(1, 1, 1.0436), (1, 0, 0.5460), (0, 0, 0.4055), (0, 1, 1.7918)])
def test_the_numbers_of_video_reward(margin, strict, value):
    found = tie_nll(torch.tensor(float(margin)), torch.tensor(float(strict)), k=5.0)
    assert float(found) == pytest.approx(value, abs=5e-5)


def test_the_loss_equals_the_probabilities_of_the_model():
    for margin in (-2.0, 0.0, 0.7):
        won = 1 / (1 + exp(log(3) - margin))
        lost = 1 / (1 + exp(log(3) + margin))
        tie = (9 - 1) * won * lost
        assert won + lost + tie == pytest.approx(1, abs=1e-9)
        for strict, chance in ((1.0, won), (0.0, tie)):
            found = tie_nll(torch.tensor(margin, dtype=torch.float64), torch.tensor(strict).double(), k=3.0)
            assert float(found) == pytest.approx(-log(chance), abs=1e-9)
