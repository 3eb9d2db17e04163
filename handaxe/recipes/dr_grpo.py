"""Dr. GRPO: GRPO without its two normalisations."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.constant_length import constant_length
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["dr_grpo"]

PAPER = Paper(title="Understanding R1-Zero-Like Training: A Critical Perspective", short="Dr. GRPO", arxiv="2503.20783")
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def dr_grpo(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    max_length: int = 48,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with centred advantages and a sum over tokens divided by a constant.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        max_length: the constant that token sums are divided by, in tokens.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": world.correct,
        "credit": group_norm(std=None),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=constant_length(length=max_length)),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
