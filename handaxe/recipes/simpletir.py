"""SimpleTIR: leave out attempts with a void turn, and nothing else changes."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player, states_number
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.pipe import pipe
from handaxe.selection.void_turns import void_turns

__all__ = ["simpletir"]

PAPER = Paper(
    title="SimpleTIR: End-to-End Reinforcement Learning for Multi-Turn Tool-Integrated Reasoning",
    short="SimpleTIR",
    arxiv="2509.02479",
    number=164,
)
CLAIM = Claim(
    statement="The largest gradient norms are lower with the filter than without it.",
    metric="grad_norm",
    direction="down",
    baseline="grpo",
)


def simpletir(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("python",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    eps_high: float = 0.28,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train GRPO without the tokens of attempts that hold a turn with neither call nor answer.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        eps_high: upper clip; 0.28 in the paper.
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
        "select": pipe(drop_equal_groups(), void_turns(answer=states_number)),
        "loss": policy(ratio=token(), surrogate=clip(eps_low=0.2, eps_high=eps_high), reduction=rollout_mean()),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
