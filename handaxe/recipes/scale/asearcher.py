"""ASearcher: fully asynchronous rollouts behind a staleness gate, trained with decoupled PPO."""

from handaxe.credit.group_norm import group_norm
from handaxe.losses.corrections.tis import tis
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.weighted import weighted
from handaxe.selection.drop_equal_groups import drop_equal_groups

__all__ = ["asearcher"]

TITLE = "Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with Large-Scale Asynchronous RL"
FASTER = "A step takes less time with rollouts launched up to four steps ahead of the weights, as accurate."
RECIPE = Recipe(
    paper=Paper(TITLE, "ASearcher", "2508.07976", 196),
    claims=(Claim(FASTER, "training/step_seconds", "down", baseline="asearcher --staleness 0", same="pass@1"),),
    setting=Setting(wait=0.1),
)


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

    Differs: no bias on the reward, which would cancel; a step waits for the groups launched for it unless told not to;
    weights above the cap are cut down to it, where those tokens may as well be left out (`mis`).

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
