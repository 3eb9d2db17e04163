"""RLOO (arXiv:2402.14740): REINFORCE with the mean reward of the siblings as baseline."""

from handaxe import credit
from handaxe.losses import reductions, surrogates
from handaxe.methods.method import Method, replace

__all__ = ["rloo"]


def rloo(base: Method) -> Method:
    """Train REINFORCE with a leave-one-out baseline, log-probs summed over each rollout."""
    return replace(
        base,
        credit=credit.leave_one_out(),
        surrogate=surrogates.reinforce(),
        reduction=reductions.rollout_sum(),
    )
