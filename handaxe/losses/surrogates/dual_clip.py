"""The clipped surrogate with an upper bound of the loss at negative advantages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Surrogate
from handaxe.losses.surrogates.clip import clip

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["dual_clip"]


def dual_clip(*, eps_low: float = 0.2, eps_high: float = 0.2, cap: float = 3.0) -> Surrogate:
    """Also bound the loss of a token with a negative advantage and a large ratio.

        loss_t = min(clip loss_t, -A_t cap)         if A_t < 0
        loss_t = clip loss_t                        otherwise

    `clip` alone has no bound for A < 0 and rho >> 1. Above the cap the gradient is 0.

    Args:
        eps_low: as in `clip`.
        eps_high: as in `clip`.
        cap: bound of the ratio at A < 0, > 1; 3 in the paper and in verl.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT.

    Raises:
        InputError: cap is not above 1.

    Example:
        (A, rho) -> loss:  (-1, 4) -> 3 instead of 4;  (-1, 1.5) -> 1.5;  (1, 1.5) -> -1.2

    Paper: arXiv:1912.09729, dual-clip PPO.
    Differs: nothing.
    """
    if cap <= 1:
        raise InputError(f"cap bounds a ratio from above and must be > 1, not {cap}")
    single = clip(eps_low=eps_low, eps_high=eps_high)

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, logp_BT: Tensor) -> Tensor:
        loss_BT = single(log_ratio_BT, adv_BT, logp_BT)
        return torch.where(adv_BT < 0, torch.minimum(loss_BT, -adv_BT * cap), loss_BT)

    return surrogate
