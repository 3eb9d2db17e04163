"""Surrogate with a truncated ratio at negative advantages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.losses.parts.components import Surrogate

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["tapered"]


def tapered() -> Surrogate:
    """Take the full policy gradient at positive advantages, and truncate the ratio at 1 at negative ones.

        loss_t = -A_t logp_t                            if A_t >= 0
        loss_t = -sg[min(rho_t, 1)] A_t logp_t          if A_t < 0, rho_t = exp(log_ratio_t)

    sg stops the gradient. A good token of low probability, such as an expert's, is learned with weight A; a bad token
    that the policy no longer samples is not pushed further down.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT. At rho = 1 it equals `reinforce`.

    Example:
        (A, rho, logp) -> loss, d loss / d logp:  (2, 0.1, -3) -> 6, -2;  (-1, 0.5, -2) -> -1, 0.5;
        (-1, 4, -2) -> -2, 1

    Paper: arXiv:2503.14286 (TOPR), Eq. (8); Eq. (5) and, with the ratio of a chunk, Eq. (9) of arXiv:2512.24873 (ROME).
    Differs: papers and code split by the reward of the trajectory, and TOPR weights by the ratio of the whole
        trajectory; here the split is by the sign of the advantage, with any ratio (`sequence(mean=False)` is TOPR's).
    """

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, logp_BT: Tensor) -> Tensor:
        weight_BT = torch.where(adv_BT < 0, log_ratio_BT.detach().clamp(max=0).exp(), 1.0)
        return -weight_BT * adv_BT * logp_BT

    return surrogate
