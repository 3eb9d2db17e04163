import math

import pytest
import torch
from torch import nn

from handaxe.core.errors import InputError
from handaxe.engines.local.modules import adamw
from handaxe.engines.local.optimizer_step import check_learning_rate, gradient_norm, take_step


def test_negative_and_nonfinite_learning_rates_raise():
    check_learning_rate(0.0)
    for rate in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="learning rate"):
            check_learning_rate(rate)


def test_large_gradient_is_clipped_and_zeroed_after_the_step():
    one, other, unused = (nn.Parameter(torch.zeros(2, dtype=torch.float64)) for _ in range(3))
    one.grad, other.grad = torch.tensor([3.0, 0.0]).double(), torch.tensor([0.0, 4.0]).double()
    trained = [one, other, unused]
    norm = gradient_norm(trained)
    assert norm.item() == 5.0
    optimizer = adamw(trained, weight_decay=0.0, betas=(0.9, 0.95))
    take_step(optimizer, trained, norm=norm, clip_norm=1.0, learning_rate=0.1)
    torch.testing.assert_close(one.detach(), torch.tensor([-0.1, 0.0]).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(optimizer.state[other]["exp_avg"], torch.tensor([0.0, 0.08]).double(), atol=1e-6, rtol=0)
    assert one.grad is None and unused not in optimizer.state
