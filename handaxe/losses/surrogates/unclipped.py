"""The importance-weighted policy gradient without a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.losses.parts.components import Surrogate

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["unclipped"]


def unclipped() -> Surrogate:
    """Weigh each token's advantage by the probability ratio.

        loss_t = -A_t rho_t             rho_t = exp(log_ratio_t)

    At rho = 1 its gradient equals that of `reinforce`. KL-Cov starts from this surrogate.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT.

    Example:
        A 1, rho 1.5  ->  loss -1.5, d loss / d logp = -1.5

    Paper: arXiv:1707.06347, the surrogate L^CPI.
    Differs: nothing.
    """

    def surrogate(log_ratio_BT: Tensor, adv_BT: Tensor, _logp_BT: Tensor) -> Tensor:
        return -adv_BT * log_ratio_BT.exp()

    return surrogate
