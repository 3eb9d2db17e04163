"""GRPO without KL, the root of all methods: group-normalised rewards of the world, and a clipped token ratio."""

from handaxe import credit
from handaxe.losses import ratios, reductions, surrogates
from handaxe.methods.judge_role import JudgeRole
from handaxe.methods.method import Method, RunSettings
from handaxe.worlds.world import World

__all__ = ["grpo_no_kl"]


def grpo_no_kl(world: World, settings: RunSettings, *, eps_high: float = 0.2, minibatches: int = 1) -> Method:
    """Train with group-normalised advantages and a clipped ratio, without KL penalty.

    Args:
        eps_high: upper clip of the ratio.
        minibatches: optimiser steps a training step; with 2 or more, ratios differ from 1.
    """
    return Method(
        world=world,
        settings=settings,
        judge=JudgeRole.of(settings, outcome=world.correct),
        reward=world.correct,
        rollout=world.make_rollout(settings.max_turns),
        credit=credit.group_norm(std="sample"),
        ratio=ratios.token(),
        surrogate=surrogates.clip(eps_high=eps_high),
        reduction=reductions.rollout_mean(),
        minibatches=minibatches,
    )
