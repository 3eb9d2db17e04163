"""CISPO: clip the weight, keep every token's gradient."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.truncated import truncated
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["cispo"]

PAPER = Paper(
    title="MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention",
    short="CISPO",
    arxiv="2506.13585",
)
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def cispo(
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
    """Train REINFORCE with a truncated, detached importance weight.

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
        "loss": policy(ratio=token(), surrogate=truncated(), reduction=token_mean()),
        "minibatches": minibatches,
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
