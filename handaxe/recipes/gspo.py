"""GSPO: one ratio for a whole sequence."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["gspo"]

PAPER = Paper(title="Group Sequence Policy Optimization", short="GSPO", arxiv="2507.18071")
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def gspo(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    minibatches: int = 2,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with the geometric mean of the token ratios, clipped as one.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        minibatches: optimiser steps a training step, so that ratios leave 1.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": world.correct,
        "credit": group_norm(std="sample"),
        "loss": policy(ratio=sequence(), surrogate=clip(eps_low=3e-4, eps_high=4e-4), reduction=rollout_mean()),
        "minibatches": minibatches,
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
