"""Gradient norm, clipping and optimiser step, for whole and for sharded parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from handaxe.core.errors import InputError

__all__ = ["check_learning_rate", "gradient_norm", "take_step"]


def check_learning_rate(learning_rate: float) -> None:
    """Raise InputError for a negative or non-finite learning rate."""
    if not (learning_rate >= 0 and math.isfinite(learning_rate)):
        raise InputError(f"the learning rate is {learning_rate}; give a finite number of at least 0")


def gradient_norm(trained: Iterable[nn.Parameter]) -> Tensor:
    """Global norm of the gradients; parameters without a gradient are skipped."""
    return nn.utils.get_total_norm([p.grad for p in trained if p.grad is not None])


def take_step(
    optimizer: torch.optim.AdamW,
    trained: Iterable[nn.Parameter],
    *,
    norm: Tensor,
    clip_norm: float,
    learning_rate: float,
) -> None:
    """Clip the gradient, of global norm `norm`, to `clip_norm`; step the optimiser; zero the gradient."""
    nn.utils.clip_grads_with_norm_(trained, clip_norm, norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
