"""REINFORCE++: no group baseline, whitened over the batch, KL in the reward."""

from handaxe.advantages.batch_whiten import batch_whiten
from handaxe.credit.kl_return import kl_return
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Method, replace

__all__ = ["reinforce_pp"]


def reinforce_pp(base: Method, *, kl_coefficient: float = 0.01) -> Method:
    """Train with return-to-go that holds a KL penalty, whitened over every token of the batch.

    Args:
        kl_coefficient: beta of the k1 penalty in the reward.
    """
    credit, features = kl_return(kl_coefficient=kl_coefficient), ("old_logp", "ref_logp")
    return replace(base, credit=credit, shape=batch_whiten(), reduction=token_mean(), annotate=features)
