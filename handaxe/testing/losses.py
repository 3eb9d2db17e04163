"""Contract of losses: `check_loss(my_loss)`.

The batches are random and ragged, from `testing.batches`: rollouts have one to three rows, rows have several turns with
tool replies between them, and some rollouts have no trained token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.batch import Batch, Denominators, PolicyOut, combine_metrics
from handaxe.core.heads import HEAD
from handaxe.core.protocols import Loss
from handaxe.ops.seeds import generator
from handaxe.testing.batches import random_batch, random_policy

__all__ = ["LossEvaluation", "check_loss", "differentiate", "join_evaluations"]


class LossEvaluation(NamedTuple):
    """Loss on a batch: value, gradients [B, T] by input ([B, T, K] for "head/NAME"), and metrics."""

    value: float
    gradients: dict[str, Tensor]
    metrics: dict[str, float]


def differentiate(loss: Loss, out: PolicyOut, batch: Batch) -> LossEvaluation:
    """Compute value, gradients and metrics of a loss; an unused input has gradient 0."""
    leaves = {"logp": out.logp_BT, "entropy": out.entropy()}
    if out.value_BT is not None:
        leaves["value"] = out.value_BT
    leaves |= {HEAD + name: score_BTK for name, score_BTK in out.heads.items()}
    value, metrics, _ = loss(out, batch)
    assert value.shape == (), f"a loss is a scalar, but this one has shape {tuple(value.shape)}"
    assert value.requires_grad, "the loss has no gradient"
    found = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
    gradients = {
        name: torch.zeros_like(leaf) if gradient is None else gradient
        for (name, leaf), gradient in zip(leaves.items(), found)
    }
    return LossEvaluation(value.item(), gradients, metrics)


def check_loss(loss: Loss, *, together: Callable[[Batch], Tensor] | None = None, batch: Batch | None = None) -> None:
    """Check the contract of a loss.

    Value, gradient and metrics are finite, deterministic and equal in float32; they do not change if values off the
    mask become NaN or 1e9, if rows are reordered, padding or rows without a trained token are added, or if the batch is
    cut into micro-batches with equal denominators; the inputs are not changed; without trained tokens the loss is 0.

    Args:
        loss: (PolicyOut, Batch) -> LossOut.
        together: Batch -> [B] int64; rows of equal number stay in one micro-batch. None: any split is allowed.
            `lambda batch: batch.rollout_B` keeps rollouts whole.
        batch: float64; None for two random batches, in one of which some policy tokens are not trained.

    Raises:
        AssertionError: a promise is broken; the message has the numbers.
    """
    for seed, one in enumerate([random_batch(1), random_batch(2, left_out=0.2)] if batch is None else [batch]):
        out = random_policy(one, seed)
        whole = _check_alone(loss, out, one)
        _check_mask(loss, out, one, whole)
        _check_padding(loss, out, one, whole)
        units_B = torch.arange(len(one)) if together is None else together(one)
        _check_split(loss, out, one, whole, units_B, seed)


def _check_alone(loss: Loss, out: PolicyOut, batch: Batch) -> LossEvaluation:
    before = _copied(out, batch)
    whole = differentiate(loss, out, batch)
    numbers = {"the value": whole.value} | whole.metrics
    for name, number in numbers.items():
        assert isinstance(number, float), f"{name} is {number!r}, not a float"
        assert np.isfinite(number), f"{name} is {number}"
    for old, new in zip(before, _tensors(out, batch)):
        assert torch.allclose(old, new.detach(), rtol=0, atol=0, equal_nan=True), (
            "the loss changed a tensor that it was given"
        )
    _same(differentiate(loss, out, batch), whole, "two calls differ", exact=True)
    small = batch.map(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)
    rough = differentiate(loss, _mapped(out, lambda tensor: tensor.float()), small)
    _same(rough, whole, "float32 differs from float64", tolerance=2e-4)
    return whole


def _check_mask(loss: Loss, out: PolicyOut, batch: Batch, whole: LossEvaluation) -> None:
    for poison in (float("nan"), 1e9, float("-inf")):

        def poisoned(tensor: Tensor, poison: float = poison) -> Tensor:
            if tensor.ndim < 2 or not tensor.is_floating_point():
                return tensor
            return torch.where(batch.mask_BT[..., None] if tensor.ndim == 3 else batch.mask_BT, tensor, poison)

        message = f"what stands off the mask matters ({poison} there)"
        _same(differentiate(loss, _mapped(out, poisoned), batch.map(poisoned)), whole, message)
    nothing = replace(
        batch,
        mask_BT=torch.zeros_like(batch.mask_BT),
        rollout_tokens_B=torch.zeros_like(batch.rollout_tokens_B),
        rollout_turns_B=torch.zeros_like(batch.rollout_turns_B),
    )
    for counts in (batch.denominators, Denominators(0.0, 0.0, 0.0, 0.0, 0.0)):
        empty = differentiate(loss, out, replace(nothing, denominators=counts))
        assert empty.value == 0, f"with nothing to train the loss is {empty.value}, not 0"
        assert all(np.isfinite(number) for number in empty.metrics.values()), "with nothing to train a metric is NaN"
        for name, gradient in empty.gradients.items():
            assert not gradient.any(), f"with nothing to train the gradient of {name} is not 0"


def _check_padding(loss: Loss, out: PolicyOut, batch: Batch, whole: LossEvaluation) -> None:
    def wide(tensor: Tensor) -> Tensor:
        if tensor.ndim < 2:
            return tensor
        return torch.nn.functional.pad(tensor, (0, 3) if tensor.ndim == 2 else (0, 0, 0, 3))

    padded = differentiate(loss, _mapped(out, wide), batch.map(wide))
    length = batch.mask_BT.shape[1]
    cut = padded._replace(gradients={name: gradient[:, :length] for name, gradient in padded.gradients.items()})
    _same(cut, whole, "padding matters")

    def taller(tensor: Tensor) -> Tensor:
        return torch.cat([tensor, tensor[:2]])

    more = batch.map(taller)
    mask_BT, rollout_B = more.mask_BT.clone(), more.rollout_B.clone()
    tokens_B, turns_B = more.rollout_tokens_B.clone(), more.rollout_turns_B.clone()
    for part_B in (mask_BT, tokens_B, turns_B):
        part_B[len(batch) :] = 0
    fresh = int(batch.rollout_B.max()) // 2 * 2 + 2
    rollout_B[len(batch) :] = torch.arange(fresh, fresh + len(more) - len(batch))
    more = replace(more, mask_BT=mask_BT, rollout_tokens_B=tokens_B, rollout_turns_B=turns_B, rollout_B=rollout_B)
    added = differentiate(loss, _mapped(out, taller), more)
    cut = added._replace(gradients={name: gradient[: len(batch)] for name, gradient in added.gradients.items()})
    _same(cut, whole, "rows without a trained token matter")


def _check_split(loss: Loss, out: PolicyOut, batch: Batch, whole: LossEvaluation, units_B: Tensor, seed: int) -> None:
    rng = generator(seed, "check_split")
    units = rng.permutation(torch.unique(units_B).numpy())
    for parts in (1, 2, len(units)):
        chosen = [torch.isin(units_B, torch.tensor(part)).nonzero()[:, 0] for part in np.array_split(units, parts)]
        chosen = [index[torch.from_numpy(rng.permutation(len(index)))] for index in chosen if len(index)]
        pieces = [(index, differentiate(loss, *_rows(out, batch, index))) for index in chosen]
        message = "the order of rows matters" if parts == 1 else f"a split into {parts} micro-batches matters"
        _same(join_evaluations(pieces, whole), whole, message)


def join_evaluations(pieces: list[tuple[Tensor, LossEvaluation]], like: LossEvaluation) -> LossEvaluation:
    """Join micro-batches: add values and metrics, and put gradients back to their rows.

    Args:
        pieces: for each micro-batch its rows' index in the whole batch, and its evaluation.
        like: an evaluation with gradients of the whole batch's shape.
    """
    gradients = {name: torch.zeros_like(gradient) for name, gradient in like.gradients.items()}
    for index, piece in pieces:
        for name, gradient in piece.gradients.items():
            gradients[name][index, : gradient.shape[1]] = gradient
    value = sum(piece.value for _, piece in pieces)
    return LossEvaluation(value, gradients, combine_metrics([piece.metrics for _, piece in pieces]))


def _same(
    found: LossEvaluation, wanted: LossEvaluation, message: str, *, exact: bool = False, tolerance: float = 1e-6
) -> None:
    tolerance = 0.0 if exact else tolerance
    pairs = {"the value": (found.value, wanted.value)}
    assert found.metrics.keys() == wanted.metrics.keys(), (
        f"{message}: metrics {set(found.metrics) ^ set(wanted.metrics)}"
    )
    pairs |= {f"metric {name}": (found.metrics[name], wanted.metrics[name]) for name in wanted.metrics}
    for name, (a, b) in pairs.items():
        assert abs(a - b) <= tolerance * max(1.0, abs(b)), f"{message}: {name} is {a!r} instead of {b!r}"
    for name, b_BT in wanted.gradients.items():
        a_BT = found.gradients[name].to(b_BT.dtype)
        gap = (a_BT - b_BT).abs().max().item()
        fine = gap <= tolerance * max(1.0, b_BT.abs().max().item())
        assert fine, f"{message}: the gradient with respect to {name} is off by {gap}"


def _rows(out: PolicyOut, batch: Batch, index: Tensor) -> tuple[PolicyOut, Batch]:
    part = batch.rows(index)
    length = part.mask_BT.shape[1]
    return _mapped(out, lambda tensor: tensor[index, :length]), part


def _mapped(out: PolicyOut, change: Callable[[Tensor], Tensor]) -> PolicyOut:
    """Copy a policy to new leaves, changed by `change`."""

    def leaf(tensor: Tensor) -> Tensor:
        return change(tensor.detach()).clone().requires_grad_()

    entropy_BT = leaf(out.entropy())
    value_BT = None if out.value_BT is None else leaf(out.value_BT)
    heads = {name: leaf(score_BTK) for name, score_BTK in out.heads.items()}
    return PolicyOut(leaf(out.logp_BT), lambda: entropy_BT, value_BT, heads)


def _tensors(out: PolicyOut, batch: Batch) -> list[Tensor]:
    found = [out.logp_BT, out.entropy()] + ([] if out.value_BT is None else [out.value_BT])
    found += out.heads.values()
    batch.map(lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found


def _copied(out: PolicyOut, batch: Batch) -> list[Tensor]:
    return [tensor.detach().clone() for tensor in _tensors(out, batch)]
