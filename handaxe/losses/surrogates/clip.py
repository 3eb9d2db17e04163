"""The clipped surrogate of PPO, with separate bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.losses.parts.components import Surrogate

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["clip"]


def clip(*, eps_low: float = 0.2, eps_high: float = 0.2) -> Surrogate:
    """Stop the gradient of a token after its probability has moved far enough in the direction of the advantage.

        loss_t = max(-A_t rho_t, -A_t clip(rho_t, 1 - eps_low, 1 + eps_high))           rho_t = exp(log_ratio_t)

    The gradient is 0 for A > 0 and rho > 1 + eps_high, and for A < 0 and rho < 1 - eps_low.

    Args:
        eps_low: in [0, 1]; 0.2 in PPO, GRPO and DAPO, 3e-4 with the `sequence` ratio of GSPO.
        eps_high: >= 0; 0.2 in PPO and GRPO, 0.28 in DAPO (clip-higher), 4e-4 in GSPO.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT.

    Example:
        (A, rho) -> loss:  (1, 1.5) -> -1.2, with eps_high 0.28 -1.28;  (-1, 1.5) -> 1.5;  (1, 0.5) -> -0.5;
        (-1, 0.5) -> 0.8;  (-1, 4) -> 4

    Paper: arXiv:1707.06347, Eq. (7); separate bounds arXiv:2503.14476 (DAPO).
    Differs: nothing.
    """

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, _logp_BT: Tensor) -> Tensor:
        rho_BT = log_ratio_BT.exp()
        return torch.maximum(-adv_BT * rho_BT, -adv_BT * rho_BT.clamp(1 - eps_low, 1 + eps_high))

    return surrogate
