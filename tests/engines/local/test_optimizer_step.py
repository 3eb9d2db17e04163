import math

import pytest
import torch
from torch import nn

from handaxe.core.errors import InputError, TrainingError
from handaxe.engines.local.modules import adamw
from handaxe.engines.local.optimizer_step import check_learning_rate, drop_policy_gradient, gradient_norm, take_step


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
    optimizer = adamw({"a": one, "b": other, "c": unused}, weight_decay=0.0, betas=(0.9, 0.95))
    take_step(optimizer, trained, norm=norm, clip_norm=1.0, learning_rate=0.1)
    torch.testing.assert_close(one.detach(), torch.tensor([-0.1, 0.0]).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(optimizer.state[other]["exp_avg"], torch.tensor([0.0, 0.08]).double(), atol=1e-6, rtol=0)
    assert one.grad is None and unused not in optimizer.state


def test_critic_has_a_learning_rate_of_its_own():
    named = {name: nn.Parameter(torch.zeros(2, dtype=torch.float64)) for name in ("weights.w", "critic.weight")}
    for parameter in named.values():
        parameter.grad = torch.tensor([0.3, -0.3]).double()
    optimizer = adamw(named, weight_decay=0.0, betas=(0.9, 0.95))
    norm = gradient_norm(named.values())
    take_step(optimizer, named.values(), norm=norm, clip_norm=1.0, learning_rate=0.1, critic_rate=0.02)
    torch.testing.assert_close(named["weights.w"].detach(), torch.tensor([-0.1, 0.1]).double(), atol=1e-6, rtol=0)
    torch.testing.assert_close(named["critic.weight"].detach(), torch.tensor([-0.02, 0.02]).double(), atol=1e-6, rtol=0)


def test_dropped_policy_gradient_leaves_the_critic_alone():
    named = {name: nn.Parameter(torch.zeros(2)) for name in ("weights.w", "critic.weight")}
    named["critic.weight"].grad = torch.ones(2)
    named["weights.w"].grad = torch.ones(2)
    drop_policy_gradient(named)
    assert named["weights.w"].grad is None and named["critic.weight"].grad is not None
    named["critic.weight"].grad = None
    with pytest.raises(TrainingError, match="value term"):
        drop_policy_gradient(named)


def test_rate_of_a_missing_critic_raises():
    check_learning_rate(0.1, 0.2, critic=True)
    with pytest.raises(InputError, match="no critic"):
        check_learning_rate(0.1, 0.2)
    with pytest.raises(InputError, match="learning rate is -1"):
        check_learning_rate(0.1, -1.0, critic=True)
