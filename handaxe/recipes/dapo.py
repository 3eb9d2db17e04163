"""DAPO: clip higher, sample dynamically, mean over tokens, shape overlong attempts."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player
from handaxe.rewards import weighted
from handaxe.rewards.overlong import overlong
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.training.pace import Pace

__all__ = ["dapo"]

PAPER = Paper(title="DAPO: An Open-Source LLM Reinforcement Learning System at Scale", short="DAPO", arxiv="2503.14476")
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def dapo(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 8,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    rounds: int = 3,
    length_limit: int = 96,
    length_cache: int = 32,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with asymmetric clipping, groups that are neither all right nor all wrong, and a token mean.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        rounds: most generation rounds to fill a step; 10 in the released recipe.
        length_limit: expected most tokens of an attempt; 20480 in the paper.
        length_cache: tokens before the limit in which the penalty grows; 4096 in the paper.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": weighted(
            {"correct": (1.0, world.correct), "overlong": (1.0, overlong(limit=length_limit, cache=length_cache))}
        ),
        "credit": group_norm(std="sample"),
        "select": drop_equal_groups(channel="correct"),
        "loss": policy(ratio=token(), surrogate=clip(eps_low=0.2, eps_high=0.28), reduction=token_mean()),
        "pace": Pace(rounds=rounds),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
