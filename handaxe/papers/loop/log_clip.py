"""Clipped surrogate with bounds symmetric in the logarithm."""

from __future__ import annotations

from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Surrogate
from handaxe.losses.surrogates.clip import clip

__all__ = ["log_clip"]


def log_clip(*, eps: float = 0.1) -> Surrogate:
    """Clip the ratio as PPO does, at 1 + eps and its inverse.

        loss_t = max(-A_t rho_t, -A_t clip(rho_t, 1 / (1 + eps), 1 + eps))          rho_t = exp(log_ratio_t)

    A token's probability may rise and fall by the same factor. The gradient is 0 if A > 0 and rho > 1 + eps, and if A <
    0 and rho < 1 / (1 + eps).

    Args:
        eps: >= 0; 0.1 in the paper.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT.

    Raises:
        InputError: a negative eps.

    Example:
        eps 0.1: bounds 0.90909 and 1.1;  (A, rho) -> loss:  (0.75, 1.3) -> -0.825;  (-0.75, 0.5) -> 0.68182;
        (-0.75, 1.3) -> 0.975

    Paper: arXiv:2502.01600 (LOOP), as in its released code.
    Differs: nothing.
    """
    if eps < 0:
        raise InputError(f"eps is {eps}; give 0 or more")
    return clip(eps_low=eps / (1 + eps), eps_high=eps)
