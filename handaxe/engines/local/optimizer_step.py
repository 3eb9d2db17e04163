"""A step along a gradient that has gathered; the parameters may be whole, or split over several processes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from handaxe.core.errors import InputError

__all__ = ["check_rate", "gradient_norm", "take_step"]


def check_rate(learning_rate: float) -> None:
    """Raise InputError for a learning rate that is negative or not finite."""
    if not (learning_rate >= 0 and math.isfinite(learning_rate)):
        raise InputError(f"the learning rate is {learning_rate}; give a finite number that is not negative")


def gradient_norm(trained: Iterable[nn.Parameter]) -> Tensor:
    """The length of the gradient over all parameters together, those without one left out."""
    return nn.utils.get_total_norm([p.grad for p in trained if p.grad is not None])


def take_step(
    optimizer: torch.optim.AdamW,
    trained: Iterable[nn.Parameter],
    *,
    norm: Tensor,
    clip_norm: float,
    learning_rate: float,
) -> None:
    """Scale a gradient that is longer than `clip_norm` to it, step, and forget it. `norm` is its length."""
    nn.utils.clip_grads_with_norm_(trained, clip_norm, norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
