"""ASearcher: fully asynchronous rollouts behind a staleness gate, trained with decoupled PPO."""

from handaxe.credit.group_norm import group_norm
from handaxe.losses.corrections.tis import tis
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Method, replace
from handaxe.rewards.weighted import weighted
from handaxe.selection.drop_equal_groups import drop_equal_groups

__all__ = ["asearcher"]


def asearcher(
    base: Method,
    *,
    staleness: int = 4,
    first_come: bool = False,
    cap: float = 5.0,
    clip_range: float = 0.4,
    scale: float = 10.0,
) -> Method:
    """Train with groups launched ahead of the weights, and the old policy measured when they arrive.

    Args:
        staleness: eta, steps that a trained token may be old; 4 in the paper.
        first_come: train the first groups that end, as the paper does; no age is bounded then.
        cap: on the weight of the old policy against the sampler; 5 in the paper.
        clip_range: of the ratio; 0.4 in the paper.
        scale: what the reward is multiplied by; 10 in the paper.
    """
    clipped = clip(eps_low=clip_range, eps_high=clip_range)
    decoupled = replace(base, surrogate=clipped, correction=tis(cap=cap), annotate=("old_logp",))
    groups = replace(decoupled, credit=group_norm(std=None), select=drop_equal_groups(), reduction=token_mean())
    reward = weighted({"correct": (scale, base.reward)})
    pace = replace(base.pace, staleness=staleness, first_come=first_come)
    return replace(groups, reward=reward, pace=pace)
