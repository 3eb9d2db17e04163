"""PPO (arXiv:1707.06347): train policy and critic with generalised advantages over the policy's tokens."""

from handaxe import advantages, credit
from handaxe.losses import reductions, terms
from handaxe.methods.method import Method, replace

__all__ = ["ppo"]


def ppo(
    base: Method, *, gamma: float = 1.0, lam: float = 0.95, value_coefficient: float = 0.5, minibatches: int = 2
) -> Method:
    """Train with whitened generalised advantages and a clipped value loss; tool tokens are skipped.

    Args:
        gamma: discount a token.
        lam: lambda of the estimator; 0.95 in the paper.
        value_coefficient: weight of the value loss.
        minibatches: optimiser steps a training step.
    """
    return replace(
        base,
        credit=credit.gae(gamma=gamma, lam=lam),
        transform=advantages.batch_whiten(),
        reduction=reductions.token_mean(),
        terms=(terms.value(coefficient=value_coefficient),),
        annotate=("value",),
        minibatches=minibatches,
    )
