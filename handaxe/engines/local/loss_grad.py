"""Loss and its gradient with respect to log-probs, entropies and values, detached from the model.

An engine computes these numbers, in this process or on ranks, and continues the backward pass from the gradient. The
loss runs in one process on the whole batch.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import NonFiniteError, TrainingError
from handaxe.core.heads import HEAD
from handaxe.core.protocols import Loss
from handaxe.engines.local.nonfinite import UNTOUCHED, explain_loss

__all__ = ["check_trainable", "loss_grad"]


def loss_grad(
    loss: Loss,
    batch: Batch,
    *,
    logp_BT: Tensor,
    entropy: Callable[[], Tensor],
    value_BT: Tensor | None = None,
    heads: Mapping[str, Tensor] | None = None,
) -> tuple[LossOut, dict[str, Tensor]]:
    """Evaluate and differentiate a loss on detached model outputs.

    Args:
        loss: called once, with the whole batch.
        batch: on the device of the outputs.
        logp_BT: log-probs, aligned with the batch; an autograd graph behind them is neither used nor kept.
        entropy: called at most once, and only if the loss needs the entropy.
        value_BT: values of a critic, or None.
        heads: scores [B, T, K] of heads by name.

    Returns:
        The detached loss with its metrics; and d loss / d output [B, T] for "logp", "entropy" and "value", [B, T, K]
        for "head/NAME", for outputs that the loss depends on; empty if no token of the batch trains.

    Raises:
        TrainingError: the loss is not finite (the message names metrics and rows), or does not depend on the model.
    """
    leaves = {"logp": logp_BT.detach().requires_grad_()}
    if value_BT is not None:
        leaves["value"] = value_BT.detach().requires_grad_()
    scores = {name: score_BTK.detach().requires_grad_() for name, score_BTK in (heads or {}).items()}
    leaves |= {HEAD + name: score_BTK for name, score_BTK in scores.items()}

    def entropy_leaf() -> Tensor:
        if "entropy" not in leaves:
            leaves["entropy"] = entropy().detach().requires_grad_()
        return leaves["entropy"]

    outputs = PolicyOut(leaves["logp"], entropy_leaf, leaves.get("value"), scores)
    result = loss(outputs, batch)
    if not bool(torch.isfinite(result.value)):
        raise NonFiniteError(explain_loss(batch, logp_BT, result) + UNTOUCHED)
    if result.value.requires_grad:
        result.value.backward()
    elif bool(batch.mask_BT.any()):
        raise TrainingError("the loss does not depend on the model, so there is nothing to learn")
    grads = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    moved_BT = (grads["logp"] != 0) & batch.mask_BT if "logp" in grads else None
    return LossOut(result.value.detach(), result.metrics, moved_BT), grads


def check_trainable(batch: Batch) -> None:
    """Raise TrainingError if no token of the optimiser step trains."""
    if not batch.denominators.tokens:
        raise TrainingError("no token of the optimiser step trains; check the selection of rollouts")
