"""Gradient norm, clipping and optimiser step, for whole and for sharded parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from handaxe.core.errors import InputError, TrainingError
from handaxe.engines.local.modules import is_critic

__all__ = ["check_learning_rate", "drop_model_gradient", "drop_policy_gradient", "gradient_norm", "take_step"]


def check_learning_rate(learning_rate: float, critic_rate: float | None = None, *, critic: bool = False) -> None:
    """Raise InputError for a negative or non-finite learning rate, or a critic's rate without a critic."""
    for rate in (learning_rate, 0.0 if critic_rate is None else critic_rate):
        if not (rate >= 0 and math.isfinite(rate)):
            raise InputError(f"the learning rate is {rate}; give a finite number of at least 0")
    if critic_rate is not None and not critic:
        raise InputError(f"critic_rate is {critic_rate}, and this engine has no critic: annotate 'value', or omit it")


def drop_policy_gradient(trained: Mapping[str, nn.Parameter]) -> None:
    """Drop the gradients of all parameters except the critic's.

    Raises:
        TrainingError: the critic has no gradient.
    """
    for name, parameter in trained.items():
        if not is_critic(name):
            parameter.grad = None
    if all(parameter.grad is None for parameter in trained.values()):
        raise TrainingError("only the critic steps, and it has no gradient: add a value term to the loss")


def drop_model_gradient(trained: Mapping[str, nn.Parameter]) -> None:
    """Drop the gradients of the model's weights, and keep those of critic and heads."""
    for name, parameter in trained.items():
        if name.startswith("weights."):
            parameter.grad = None


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
    critic_rate: float | None = None,
) -> None:
    """Clip the gradient, of global norm `norm`, to `clip_norm`; step the optimiser; zero the gradient. The critic
    steps by `critic_rate`, None for `learning_rate`."""
    nn.utils.clip_grads_with_norm_(trained, clip_norm, norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate if critic_rate is None or not group["critic"] else critic_rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
