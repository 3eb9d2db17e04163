"""RLOO: every attempt is judged against the mean of the others."""

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.methods.method import Method, replace

__all__ = ["rloo"]


def rloo(base: Method) -> Method:
    """Train REINFORCE with a leave-one-out baseline, the log-probabilities of an attempt added up."""
    return replace(base, credit=leave_one_out(), surrogate=reinforce(), reduction=rollout_sum())
