"""ASearcher: fully asynchronous rollouts behind a staleness gate, trained with decoupled PPO."""

from dataclasses import replace

from handaxe.credit.group_norm import group_norm
from handaxe.evaluation.claims import Claim
from handaxe.losses.corrections.tis import tis
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Method, Paper, Recipe, Setting
from handaxe.rewards.combine import weighted
from handaxe.selection.drop_equal_groups import drop_equal_groups

__all__ = ["asearcher"]

TITLE = "Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with Large-Scale Asynchronous RL"
FASTER = "A step takes less time with rollouts launched up to four steps ahead of the weights, as accurate."
RECIPE = Recipe(
    paper=Paper(TITLE, "ASearcher", "2508.07976", 196),
    claims=(Claim(FASTER, "training/step_seconds", "down", baseline="asearcher --staleness 0", same="pass@1"),),
    setting=Setting(wait=0.1),
)


def asearcher(base: Method, *, staleness: int = 4, cap: float = 5.0) -> Method:
    """Train with groups launched ahead of the weights, and the old policy measured when they arrive.

    Differs: no bias on the reward, which would cancel; a step waits for the groups launched for it, not the first ones.

    Args:
        staleness: eta, steps that a trained token may be old; 4 in the paper.
        cap: on the weight of the old policy against the sampler; 5 in the paper.
    """
    decoupled = replace(
        base, surrogate=clip(eps_low=0.4, eps_high=0.4), correction=tis(cap=cap), annotate=("old_logp",)
    )
    groups = replace(decoupled, credit=group_norm(std=None), select=drop_equal_groups(), reduction=token_mean())
    reward = weighted({"correct": (10.0, base.reward)})
    return replace(groups, reward=reward, pace=replace(base.pace, staleness=staleness))
