"""Negative log-likelihood of a comparison that ends with a winner or in a tie."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from handaxe.core.deferred import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["tie_nll"]


def tie_nll(margin: Tensor, strict: Tensor, *, k: float) -> Tensor:
    """Compute the loss of each comparison by Rao and Kupper's model.

        -ln P(w) = softplus(ln k - D)                                       for a winner
        -ln P(tie) = softplus(ln k - D) + softplus(ln k + D) - ln(k^2 - 1)  for a tie

    Args:
        margin: D, score of the winner less that of the loser, of any shape; of any side in a tie.
        strict: 1 for a winner, 0 for a tie; of a shape that broadcasts.
        k: > 1.

    Returns:
        The losses, of the shape of `margin`.

    Example:
        k 5, D 1  ->  1.04359 for a winner, 0.54597 for a tie

    Paper: arXiv:2501.13918 (VideoReward), after Rao and Kupper.
    Differs: nothing.
    """
    won = torch.nn.functional.softplus(log(k) - margin)
    lost = torch.nn.functional.softplus(log(k) + margin)
    return won + (1 - strict) * (lost - log(k**2 - 1))
