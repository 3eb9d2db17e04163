"""Say in one message what made a loss or a gradient not finite, which saves the search for it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut

__all__ = ["UNTOUCHED", "explain_gradient", "explain_loss", "not_finite"]

SHOWN = 8
UNTOUCHED = (
    ". The weights are untouched and the gradient is dropped; leave these rollouts out, or load an earlier checkpoint "
    "and lower the learning rate"
)


def explain_loss(batch: Batch, logp_BT: Tensor, result: LossOut) -> str:
    """Which metrics, and which trained rows of which tensors, are not finite."""
    tensors = {"logp": logp_BT.detach(), "adv": batch.adv_BT, "old_logp": batch.old_logp_BT}
    tensors |= {"behaviour_logp": batch.behaviour_logp_BT, **batch.extras}
    parts = []
    metrics = [name for name, value in result.metrics.items() if not math.isfinite(value)]
    if metrics:
        parts.append(f"metrics {', '.join(metrics)}")
    for name, value_BT in tensors.items():
        bad_B = (batch.mask_BT & ~torch.isfinite(value_BT)).any(1)
        rows = bad_B.nonzero()[:, 0].tolist()
        if rows:
            rollouts = sorted(set(batch.rollout_B[bad_B].tolist()))
            parts.append(f"{name} in rows {_some(rows)} (rollouts {_some(rollouts)})")
    where = "; not finite: " + "; ".join(parts) if parts else ", though all that went into it is finite"
    return f"the loss is {result.value.item()}{where}"


def not_finite(named: Iterable[tuple[str, Tensor]]) -> list[str]:
    """Names of the gradients that are not finite."""
    return [name for name, gradient in named if not bool(torch.isfinite(gradient).all())]


def explain_gradient(bad: list[str], norm: float) -> str:
    """Which parameters have a gradient that is not finite; `bad` are their names."""
    where = f" in {_some(bad)}" if bad else ", though each entry is finite: it overflows"
    return f"the gradient norm is {norm}{where}"


def _some(names: list) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more
