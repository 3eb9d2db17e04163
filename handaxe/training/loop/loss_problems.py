"""Problems of a loss on a batch of a run, with a random policy instead of the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from handaxe.core.batch import Batch, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.protocols import Loss
from handaxe.ops.seeds import derive_seed

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["loss_problems"]

DRIFT = 0.1
"""Standard deviation of the random policy's log-probs around the old ones, in nats."""
POISON = 1e3
"""Value off the mask; finite, as in every batch of a run."""
CLOSE = 1e-4
"""Tolerance of float32 sums in another order, relative to the largest value."""


class _Value(NamedTuple):
    """Value of a loss, and its gradient [B, T] with respect to the log-probs."""

    value: float
    gradient_BT: Tensor


def loss_problems(loss: Loss, batch: Batch) -> Iterator[str]:
    """Yield each broken rule of `testing.check_loss` that holds for every loss.

    Value, metrics and gradient are finite; values off the mask do not matter; the input is unchanged;
    micro-batches of whole groups add up; without trained tokens the loss is 0.

    Args:
        loss: (PolicyOut, Batch) -> LossOut.
        batch: with trained tokens.

    Example:
        list(loss_problems(lambda policy, batch: None, batch)) -> ["the result is a NoneType, not a LossOut"]
    """
    policy = _policy(batch)
    before = [tensor.detach().clone() for tensor in _tensors(policy, batch)]
    found = loss(policy, batch)
    if problem := _form_problem(found):
        yield problem
        return
    if not all(torch.equal(a, b.detach()) for a, b in zip(before, _tensors(policy, batch), strict=True)):
        yield "it changes a tensor of its input; clone before you change"
    whole = _evaluate(loss, policy, batch)
    if not bool(whole.gradient_BT.isfinite().all()):
        yield "the gradient is not finite"
    poisoned = _evaluate(loss, _policy(batch, off_mask=POISON), batch.map(lambda tensor: _poison(tensor, batch)))
    if not _same(whole, poisoned):
        yield "values off the mask matter: use torch.where(batch.mask_BT, ..., 0) before arithmetic"
    groups = torch.unique(batch.group_B)
    if len(groups) > 1 and not _same(whole, _split(loss, policy, batch, groups)):
        yield "two micro-batches do not add up to the whole batch: divide by batch.denominators, not by a local count"
    empty = loss(policy, _untrained(batch)).value.detach().item()
    if empty != 0:
        yield f"without trained tokens the loss is {empty}, not 0"


def _form_problem(found: object) -> str:
    value, metrics = getattr(found, "value", None), getattr(found, "metrics", None)
    if not isinstance(value, torch.Tensor) or not isinstance(metrics, dict):
        return f"the result is a {type(found).__name__}, not a LossOut"
    if value.shape != () or not value.requires_grad:
        return f"the value has shape {tuple(value.shape)} and requires_grad={value.requires_grad}; give a scalar"
    if not bool(value.isfinite()):
        return f"the value is {value.item()}"
    wrong = {name: one for name, one in metrics.items() if not isinstance(one, float) or not math.isfinite(one)}
    return f"metrics are no finite floats: {wrong}" if wrong else ""


def _policy(batch: Batch, *, off_mask: float = 0.0) -> PolicyOut:
    """A random policy near the old one: leaves with gradients."""
    draw = torch.Generator().manual_seed(derive_seed("loss_problems"))
    shape, like = tuple(batch.mask_BT.shape), batch.old_logp_BT

    def leaf(values_BT: Tensor) -> Tensor:
        return torch.where(batch.mask_BT, values_BT, off_mask).requires_grad_()

    logp_BT = (batch.old_logp_BT.nan_to_num() + DRIFT * torch.randn(shape, generator=draw).to(like)).clamp(max=-1e-3)
    entropy_BT = leaf(torch.rand(shape, generator=draw).to(like))
    return PolicyOut(leaf(logp_BT), lambda: entropy_BT, leaf(torch.randn(shape, generator=draw).to(like)))


def _evaluate(loss: Loss, policy: PolicyOut, batch: Batch) -> _Value:
    value = loss(policy, batch).value
    (gradient_BT,) = torch.autograd.grad(value, [policy.logp_BT], allow_unused=True)
    return _Value(value.item(), torch.zeros_like(batch.adv_BT) if gradient_BT is None else gradient_BT)


def _split(loss: Loss, policy: PolicyOut, batch: Batch, groups: Tensor) -> _Value:
    """Sum over micro-batches of one group each."""
    value, gradient_BT = 0.0, torch.zeros_like(batch.adv_BT)
    for group in groups.tolist():
        index = (batch.group_B == group).nonzero()[:, 0]
        piece = batch.rows(index)
        found = _evaluate(loss, _mapped(policy, lambda x: x[index, : piece.mask_BT.shape[1]]), piece)  # noqa: B023
        value += found.value
        gradient_BT[index, : piece.mask_BT.shape[1]] = found.gradient_BT
    return _Value(value, gradient_BT)


def _mapped(policy: PolicyOut, change: Callable[[Tensor], Tensor]) -> PolicyOut:
    def leaf(tensor: Tensor) -> Tensor:
        return change(tensor.detach()).clone().requires_grad_()

    entropy_BT = leaf(policy.entropy())
    return PolicyOut(leaf(policy.logp_BT), lambda: entropy_BT, _value_of(policy, leaf))


def _value_of(policy: PolicyOut, leaf: Callable[[Tensor], Tensor]) -> Tensor | None:
    return None if policy.value_BT is None else leaf(policy.value_BT)


def _poison(tensor: Tensor, batch: Batch) -> Tensor:
    if tensor.ndim < 2 or not tensor.is_floating_point():
        return tensor
    return torch.where(batch.mask_BT, tensor, POISON)


def _untrained(batch: Batch) -> Batch:
    return replace(
        batch,
        mask_BT=torch.zeros_like(batch.mask_BT),
        rollout_tokens_B=torch.zeros_like(batch.rollout_tokens_B),
        rollout_turns_B=torch.zeros_like(batch.rollout_turns_B),
    )


def _tensors(policy: PolicyOut, batch: Batch) -> list[Tensor]:
    found = [policy.logp_BT, policy.entropy()]
    batch.map(lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found


def _same(one: _Value, other: _Value) -> bool:
    largest = max(1.0, one.gradient_BT.abs().max().item())
    return abs(one.value - other.value) <= CLOSE * max(1.0, abs(one.value)) and bool(
        ((one.gradient_BT - other.gradient_BT).abs() <= CLOSE * largest).all()
    )
