"""ASearcher (arXiv:2508.07976): train on asynchronous rollouts of bounded staleness with decoupled PPO."""

from handaxe import credit, rewards, selection
from handaxe.losses import corrections, reductions, surrogates
from handaxe.methods.method import Method, replace

__all__ = ["asearcher"]


def asearcher(
    base: Method, *, staleness: int = 4, cap: float = 5.0, clip_range: float = 0.4, scale: float = 10.0
) -> Method:
    """Launch groups ahead of the weights, and correct tokens by the ratio of proximal and behaviour policy.

    Args:
        staleness: eta, largest age of a trained token in training steps; 4 in the paper.
        cap: upper bound of the correction weight; 5 in the paper.
        clip_range: clip range of the ratio to the proximal policy; 0.4 in the paper.
        scale: factor of the reward; 10 in the paper.
    """
    return replace(
        base,
        surrogate=surrogates.clip(eps_low=clip_range, eps_high=clip_range),
        correction=corrections.tis(cap=cap),
        annotate=("old_logp",),
        credit=credit.group_norm(std=None),
        select=selection.drop_equal_groups(),
        reduction=reductions.token_mean(),
        reward=rewards.weighted({"correct": (scale, base.reward)}),
        async_config=replace(base.async_config, staleness=staleness),
    )
