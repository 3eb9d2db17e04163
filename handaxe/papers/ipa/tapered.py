"""The policy gradient that weighs good tokens fully and bad ones by their ratio, up to 1."""

from __future__ import annotations

import torch
from torch import Tensor

from handaxe.losses.parts.pieces import Surrogate

__all__ = ["tapered"]


def tapered() -> Surrogate:
    """Raise good tokens as supervised learning does, and lower bad ones only as far as the policy still says them.

        loss_t = -A_t logp_t                            where A_t >= 0
        loss_t = -sg[min(rho_t, 1)] A_t logp_t          where A_t < 0, rho_t = exp(log_ratio_t)

    sg stops the gradient. A good token that the policy would hardly say by itself, such as an expert's, is learned with
    weight A; a bad one that it says no longer is not pushed further down.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT. At rho = 1 this is `reinforce`.

    Example:
        (A, rho, logp) -> loss, d loss / d logp:  (2, 0.1, -3) -> 6, -2;  (-1, 0.5, -2) -> -1, 0.5;
        (-1, 4, -2) -> -2, 1

    Paper: arXiv:2503.14286 (TOPR), Eq. (8); one of the surrogates of arXiv:2512.24873 (ROME).
    Differs: papers and code tell good from bad by the reward of the trajectory, and TOPR weighs by the ratio of the
    whole of it; here it is the advantage's sign, and any ratio (`sequence(mean=False)` is TOPR's).
    """

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, logp_BT: Tensor) -> Tensor:
        weight_BT = torch.where(adv_BT < 0, log_ratio_BT.detach().clamp(max=0).exp(), 1.0)
        return -weight_BT * adv_BT * logp_BT

    return surrogate
