"""The policy gradient without a ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.losses.parts.components import Surrogate

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["reinforce"]


def reinforce() -> Surrogate:
    """Raise the log-prob of a token in proportion to its advantage.

        loss_t = -A_t logp_t

    The ratio does not enter: this is the gradient for on-policy samples. REINFORCE, RLOO and REINFORCE++ differ in A_t,
    that is in credit.

    Returns:
        A surrogate: (log_ratio_BT, adv_BT, logp_BT) -> loss_BT. Advantage 0 gives loss 0 and gradient 0.

    Example:
        logp -0.5, reward 1, baseline 0.25  ->  A 0.75, loss 0.375, d loss / d logp = -0.75

    Paper: Williams 1992, doi:10.1007/BF00992696; RLOO is arXiv:2402.14740, REINFORCE++ arXiv:2501.03262.
    Differs: nothing.
    """

    def surrogate(_log_ratio_BT: Tensor, adv_BT: Tensor, logp_BT: Tensor) -> Tensor:
        return -adv_BT * logp_BT

    return surrogate
