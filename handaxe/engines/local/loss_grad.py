"""The loss, away from the model: what it is, and how it changes with each number that the model said.

An engine computes the numbers, in this process or in others, and afterwards goes backward from these slopes. The loss
itself is neither sent to another process nor split by rows.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import TrainingError
from handaxe.core.protocols import Loss
from handaxe.engines.local.nonfinite import UNTOUCHED, explain_loss

__all__ = ["check_trained", "loss_grad"]


def loss_grad(
    loss: Loss,
    batch: Batch,
    *,
    logp_BT: Tensor,
    entropy: Callable[[], Tensor],
    value_BT: Tensor | None = None,
) -> tuple[LossOut, dict[str, Tensor]]:
    """Run a loss on numbers that no longer know where they come from.

    Args:
        loss: called once, with the whole batch.
        batch: on the device of the numbers.
        logp_BT: what the model said, aligned with the batch; a graph behind it is neither used nor kept.
        entropy: called at most once, and only when the loss asks.
        value_BT: where there is a critic.

    Returns:
        The loss, detached, with its metrics; and d loss / d number [B, T] for "logp", "entropy" and "value", as far as
        the loss depends on them; empty where nothing of the batch trains.

    Raises:
        TrainingError: when the loss is not finite (naming the metrics and rows that are not) or depends on nothing that
            the model says.
    """
    leaves = {"logp": logp_BT.detach().requires_grad_()}
    if value_BT is not None:
        leaves["value"] = value_BT.detach().requires_grad_()

    def asked() -> Tensor:
        if "entropy" not in leaves:
            leaves["entropy"] = entropy().detach().requires_grad_()
        return leaves["entropy"]

    result = loss(PolicyOut(logp_BT=leaves["logp"], entropy=asked, value_BT=leaves.get("value")), batch)
    if not bool(torch.isfinite(result.value)):
        raise TrainingError(explain_loss(batch, logp_BT, result) + UNTOUCHED)
    if result.value.requires_grad:
        result.value.backward()
    elif bool(batch.mask_BT.any()):
        raise TrainingError("the loss does not depend on what the model says, so there is nothing to learn")
    found = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    return LossOut(result.value.detach(), result.metrics), found


def check_trained(batch: Batch) -> None:
    """Raise TrainingError for a batch of an optimiser step in which no token trains."""
    if not batch.denominators.tokens:
        raise TrainingError("nothing to train: no token of the optimiser step trains; see how rollouts were selected")
