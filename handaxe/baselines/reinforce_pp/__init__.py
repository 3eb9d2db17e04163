"""REINFORCE++ (arXiv:2501.03262): whiten returns over the batch, with a KL penalty in the reward."""

from handaxe import advantages, credit
from handaxe.losses import reductions
from handaxe.methods.method import Method, replace

__all__ = ["reinforce_pp"]


def reinforce_pp(base: Method, *, kl_coefficient: float = 0.01) -> Method:
    """Train with the return-to-go of outcome and KL penalty, whitened over every token of the batch.

    Args:
        kl_coefficient: beta of the k1 penalty in the reward.
    """
    return replace(
        base,
        credit=credit.kl_return(kl_coefficient=kl_coefficient),
        transform=advantages.batch_whiten(),
        reduction=reductions.token_mean(),
        annotate=("old_logp", "ref_logp"),
    )
