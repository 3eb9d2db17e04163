"""PPO (arXiv:1707.06347): train policy and critic with generalised advantages over the policy's tokens."""

from handaxe import advantages, credit
from handaxe.advantages.batch_whiten import Within
from handaxe.losses import reductions, terms
from handaxe.methods.method import Method, replace

__all__ = ["ppo"]


def ppo(
    base: Method,
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
    value_coefficient: float = 0.5,
    minibatches: int = 2,
    whiten: Within = "batch",
    critic_warmup: int = 0,
    critic_rate: float | None = None,
) -> Method:
    """Train with whitened generalised advantages and a clipped value loss; tool tokens are skipped.

    Args:
        gamma: discount a token.
        lam: lambda of the estimator; 0.95 in the paper.
        value_coefficient: weight of the value loss.
        minibatches: optimiser steps a training step.
        whiten: statistics of advantages over the batch, or over the tokens of each turn index.
        critic_warmup: first steps, in which only the critic learns.
        critic_rate: learning rate of the critic, a linear layer on the policy's hidden states; None for the policy's.
    """
    return replace(
        base,
        credit=credit.gae(gamma=gamma, lam=lam),
        transform=advantages.batch_whiten(within=whiten),
        reduction=reductions.token_mean(),
        terms=(terms.value(coefficient=value_coefficient),),
        annotate=("value",),
        minibatches=minibatches,
        critic_warmup=critic_warmup,
        critic_rate=critic_rate,
    )
