"""PPO with a critic: token-level GAE that skips what tools wrote."""

from typing import Any

from handaxe.credit.batch_whiten import batch_whiten
from handaxe.credit.gae import gae
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.terms.value import value
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["ppo"]

PAPER = Paper(title="Proximal Policy Optimization Algorithms", short="PPO", arxiv="1707.06347")
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def ppo(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    gamma: float = 1.0,
    lam: float = 0.95,
    value_coefficient: float = 0.5,
    minibatches: int = 2,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with generalised advantages, a clipped ratio and a clipped value loss.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        gamma: discount a token.
        lam: lambda of the advantage estimator.
        value_coefficient: weight of the value loss.
        minibatches: optimiser steps a training step.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens, critic=True),
        "reward": world.correct,
        "credit": gae(gamma=gamma, lam=lam),
        "shape": batch_whiten(),
        "loss": policy(
            ratio=token(), surrogate=clip(), reduction=token_mean(), terms=(value(coefficient=value_coefficient),)
        ),
        "annotate": ("value",),
        "minibatches": minibatches,
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
