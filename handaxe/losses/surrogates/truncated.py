"""The policy gradient with a truncated importance weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.losses.parts.components import Surrogate

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["truncated"]


def truncated(*, eps_high: float = 0.2, eps_low: float | None = None) -> Surrogate:
    """Clip the weight of a token's gradient instead of the token's objective, so that every token keeps a gradient.

        loss_t = -sg[w_t] A_t logp_t            w_t = clip(rho_t, 1 - eps_low, 1 + eps_high), rho_t = exp(log_ratio_t)

    sg stops the gradient. Every token keeps the gradient -w_t A_t, also where PPO's clip gives 0.

    Args:
        eps_high: >= 0; tuned in the paper, without a value; 0.2 in verl.
        eps_low: None for no lower bound (used in the paper), or in [0, 1].

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT.

    Example:
        rho 1.5, A 1, logp -1  ->  loss 1.2, d loss / d logp = -1.2
        rho 0.5, A 1  ->  gradient -0.5; with eps_low 0.2, -0.8

    Paper: arXiv:2506.13585 (MiniMax-M1), CISPO.
    Differs: nothing; the paper writes a lower bound and sets it so large that it never acts.
    """
    floor = None if eps_low is None else 1 - eps_low

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, logp_BT: Tensor) -> Tensor:
        weight_BT = log_ratio_BT.detach().exp().clamp(min=floor, max=1 + eps_high)
        return -weight_BT * adv_BT * logp_BT

    return surrogate
