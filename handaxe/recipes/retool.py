"""ReTool: a code interpreter inside the reasoning, outcome reward alone, PPO over what the policy wrote."""

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
from handaxe.rewards.failure_shaping import failure_shaping

__all__ = ["retool"]

PAPER = Paper(
    title="ReTool: Reinforcement Learning for Strategic Tool Use in LLMs", short="ReTool", arxiv="2504.11536", number=49
)
CLAIM = Claim(
    statement="Accuracy ends higher with the interpreter than without it.",
    metric="pass@1",
    direction="up",
    baseline="retool --tools",
)


def retool(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("python",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    failure_cap: float = -1.0,
    failure_bonus: float = 0.0,
    value_coefficient: float = 0.5,
    minibatches: int = 2,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train PPO with +1 for a right answer and -1 for a wrong one, the interpreter's words masked.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        failure_cap: best reward of a failure: -1 as in the paper, -0.6 in released code.
        failure_bonus: for one exchange of a call and its reply in a failure; 0.1 in the shaped variant.
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
        "reward": failure_shaping(base=world.correct, bonus=failure_bonus, cap=failure_cap, correct_above=0.5),
        "credit": gae(gamma=1.0, lam=1.0),
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
