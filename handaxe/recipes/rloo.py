"""RLOO: every attempt is judged against the mean of the others."""

from typing import Any

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_sum import rollout_sum
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["rloo"]

PAPER = Paper(
    title="Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs",
    short="RLOO",
    arxiv="2402.14740",
)
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def rloo(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train REINFORCE with a leave-one-out baseline.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": world.correct,
        "credit": leave_one_out(),
        "loss": policy(ratio=token(), surrogate=reinforce(), reduction=rollout_sum()),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
