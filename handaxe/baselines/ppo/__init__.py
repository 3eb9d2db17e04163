"""PPO with a critic: token-level GAE that skips what tools wrote."""

from handaxe.advantages.batch_whiten import batch_whiten
from handaxe.credit.gae import gae
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.terms.value import value
from handaxe.methods.method import Method, replace

__all__ = ["ppo"]


def ppo(
    base: Method, *, gamma: float = 1.0, lam: float = 0.95, value_coefficient: float = 0.5, minibatches: int = 2
) -> Method:
    """Train with generalised advantages and a clipped value loss.

    Args:
        gamma: discount a token.
        lam: lambda of the advantage estimator.
        value_coefficient: weight of the value loss.
        minibatches: optimiser steps a training step.
    """
    terms = (value(coefficient=value_coefficient),)
    critic = replace(base, credit=gae(gamma=gamma, lam=lam), shape=batch_whiten(), annotate=("value",))
    return replace(critic, reduction=token_mean(), terms=terms, minibatches=minibatches)
