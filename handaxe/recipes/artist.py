"""ARTIST: answer, format and successful execution, added up."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player
from handaxe.rewards import weighted
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.well_formed import well_formed

__all__ = ["artist"]

PAPER = Paper(
    title="Agentic Reasoning and Tool Integration for LLMs via Reinforcement Learning",
    short="ARTIST",
    arxiv="2505.01441",
    number=69,
)
CLAIM = Claim(
    statement="Correct tool calls a solution rise over the policy it starts from.",
    metric="tool_productivity",
    direction="up",
    baseline="start",
)


def artist(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("python",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    answer_weight: float = 2.0,
    format_weight: float = 0.5,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train GRPO on a composite reward: 2 for the answer, 0.5 for the format, up to 1 for executions that succeed.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        answer_weight: of a right answer; 2 is unconfirmed.
        format_weight: of a well-formed attempt; 0.5 is unconfirmed.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": weighted(
            {
                "answer": (answer_weight, world.correct),
                "format": (format_weight, well_formed()),
                "execution": (1.0, tool_success()),
            }
        ),
        "credit": group_norm(std="sample"),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
