"""Clipped surrogate with a bounded gradient above the upper clip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Surrogate

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["clip_with_gradient"]


def clip_with_gradient(*, eps_low: float = 0.2, eps_high: float = 0.2, cap: float | None = None) -> Surrogate:
    """Clip as PPO does, with a bounded gradient for positive tokens above the upper bound.

        loss_t = max(-A_t rho_t, -A_t c_t)          c_t = 1 - eps_low                         rho_t < 1 - eps_low
                                                          (1 + eps_high) rho_t / sg[rho_t]    rho_t > 1 + eps_high
                                                          rho_t                               between
        and at most -A_t cap if A_t < 0 and `cap` is given

    sg stops the gradient, so that the value equals that of `clip`. For A > 0 and rho > 1 + eps_high the gradient is
    that of -A (1 + eps_high) logp instead of 0; elsewhere it equals that of `clip`, or of `dual_clip` with a cap.

    Args:
        eps_low: in [0, 1]; 0.2.
        eps_high: >= 0; 0.2.
        cap: upper bound of the ratio for A < 0, > 1; 3 in the released code, None for no bound.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT.

    Raises:
        InputError: a cap of 1 or less.

    Example:
        (A, rho) -> loss, d loss / d logp:  (1, 1.5) -> -1.2, -1.2 (`clip`: 0);  (1, 0.5) -> -0.5, -0.5;
        (-1, 1.5) -> 1.5, 1.5;  (-1, 0.5) -> 0.8, 0;  (-1, 4) -> 4, 4, with cap 3 -> 3, 0

    Paper: AEPO, arXiv:2510.14545, stop-gradient in the high clip.
    Differs: nothing from the released code, which does this at every clipped token.
    """
    if cap is not None and cap <= 1:
        raise InputError(f"cap bounds a ratio from above and must be > 1, not {cap}")

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, _logp_BT: Tensor) -> Tensor:
        rho_BT, one_BT = log_ratio_BT.exp(), (log_ratio_BT - log_ratio_BT.detach()).exp()
        high_BT = torch.where(rho_BT > 1 + eps_high, (1 + eps_high) * one_BT, rho_BT)
        loss_BT = torch.maximum(-adv_BT * rho_BT, -adv_BT * high_BT.clamp(min=1 - eps_low))
        if cap is None:
            return loss_BT
        return torch.where(adv_BT < 0, torch.minimum(loss_BT, -adv_BT * cap), loss_BT)

    return surrogate
