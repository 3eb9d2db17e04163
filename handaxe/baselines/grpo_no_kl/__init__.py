"""The root that all recipes change: the group is the baseline, the ratio is clipped, the reward is the world's."""

from handaxe.credit.group_norm import group_norm
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Method, RunSettings
from handaxe.worlds.world import World

__all__ = ["grpo_no_kl"]


def grpo_no_kl(world: World, settings: RunSettings, *, eps_high: float = 0.2, minibatches: int = 1) -> Method:
    """Train with group-normalised advantages and a clipped ratio, without KL penalty.

    Args:
        eps_high: upper clip of the ratio.
        minibatches: optimiser steps a training step; with 2 or more, ratios leave 1.
    """
    return Method(
        world=world,
        settings=settings,
        reward=world.correct,
        rollout=world.plays(settings.max_turns),
        credit=group_norm(std="sample"),
        ratio=token(),
        surrogate=clip(eps_high=eps_high),
        reduction=rollout_mean(),
        minibatches=minibatches,
    )
