"""Float32 master weights of half-precision parameters: the optimiser steps on the master, and the model gets a copy.

A bfloat16 number has 8 significant bits: a step below 1/256 of a weight would be lost in the rounding of the weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

__all__ = ["copy_to_masters", "copy_to_model", "gradients_to_masters", "master_tensors", "optimized_parameters"]


def optimized_parameters(trained: Mapping[str, nn.Parameter]) -> dict[str, nn.Parameter]:
    """Return the parameters of the optimiser by name: a float32 copy of each half-precision parameter, and every other
    parameter itself."""
    return {
        name: nn.Parameter(parameter.detach().float()) if _is_half(parameter) else parameter
        for name, parameter in trained.items()
    }


@contextmanager
def gradients_to_masters(trained: Mapping[str, nn.Parameter], optimized: Mapping[str, nn.Parameter]) -> Iterator[None]:
    """Context manager: gradients of half-precision parameters accumulate in the masters, in float32.

    The gradient of a parameter is freed once the master has it, during the backward pass.
    """
    pairs = _pairs(trained, optimized)
    hooks = [half.register_post_accumulate_grad_hook(partial(_move_gradient, master)) for half, master in pairs]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for half, _ in pairs:
            half.grad = None


@torch.no_grad()
def copy_to_model(trained: Mapping[str, nn.Parameter], optimized: Mapping[str, nn.Parameter]) -> None:
    """Round the masters to the parameters of the model."""
    for half, master in _pairs(trained, optimized):
        half.copy_(master)


@torch.no_grad()
def copy_to_masters(trained: Mapping[str, nn.Parameter], optimized: Mapping[str, nn.Parameter]) -> None:
    """Reset the masters to the parameters of the model."""
    for half, master in _pairs(trained, optimized):
        master.copy_(half)


def master_tensors(trained: Mapping[str, nn.Parameter], optimized: Mapping[str, nn.Parameter]) -> dict[str, Tensor]:
    """Return the masters of a checkpoint, "master.NAME"; empty if no parameter is in half precision."""
    return {f"master.{name}": optimized[name] for name in trained if optimized[name] is not trained[name]}


def _pairs(
    trained: Mapping[str, nn.Parameter], optimized: Mapping[str, nn.Parameter]
) -> list[tuple[nn.Parameter, nn.Parameter]]:
    return [(trained[name], optimized[name]) for name in trained if optimized[name] is not trained[name]]


def _move_gradient(master: nn.Parameter, half: Tensor) -> None:
    if half.grad is None:
        return
    if master.grad is None:
        master.grad = half.grad.float()
    else:
        master.grad.add_(half.grad)
    half.grad = None


def _is_half(parameter: Tensor) -> bool:
    return parameter.dtype in (torch.bfloat16, torch.float16)
