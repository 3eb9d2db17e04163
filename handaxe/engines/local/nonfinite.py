"""Error messages that locate the cause of a non-finite loss or gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut

__all__ = ["UNTOUCHED", "explain_gradient", "explain_loss", "nonfinite_names"]

SHOWN = 8
UNTOUCHED = (
    ". The weights are unchanged and the gradient is dropped; leave these rollouts out, or load an earlier checkpoint "
    "and lower the learning rate"
)


def explain_loss(batch: Batch, logp_BT: Tensor, result: LossOut) -> str:
    """Message that names the non-finite metrics, tensors and trained rows."""
    tensors = {"logp": logp_BT.detach(), "adv": batch.adv_BT, "old_logp": batch.old_logp_BT}
    tensors |= {"behaviour_logp": batch.behaviour_logp_BT, **batch.extras}
    parts = []
    metrics = [name for name, value in result.metrics.items() if not math.isfinite(value)]
    if metrics:
        parts.append(f"metrics {', '.join(metrics)}")
    for name, value_BT in tensors.items():
        nonfinite_B = (batch.mask_BT & ~torch.isfinite(value_BT)).any(1)
        rows = nonfinite_B.nonzero()[:, 0].tolist()
        if rows:
            rollouts = sorted(set(batch.rollout_B[nonfinite_B].tolist()))
            parts.append(f"{name} in rows {_shorten(rows)} (rollouts {_shorten(rollouts)})")
    where = "; not finite: " + "; ".join(parts) if parts else ", though all inputs are finite"
    return f"the loss is {result.value.item()}{where}"


def nonfinite_names(named: Iterable[tuple[str, Tensor]]) -> list[str]:
    """Names of the non-finite gradients."""
    return [name for name, gradient in named if not bool(torch.isfinite(gradient).all())]


def explain_gradient(names: list[str], norm: float) -> str:
    """Make a message with the parameters that have a non-finite gradient."""
    where = f" in {_shorten(names)}" if names else ", though each entry is finite: the sum overflows"
    return f"the gradient norm is {norm}{where}"


def _shorten(names: list) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more
