"""OTC: a right answer is worth more the closer its calls are to the fewest that ever sufficed."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import SUMS, ToolName, gym_world, player
from handaxe.rewards.fewer_calls import fewer_calls

__all__ = ["otc"]

PAPER = Paper(title="OTC: Optimal Tool Calls via Reinforcement Learning", short="OTC", arxiv="2504.14870", number=1)
CLAIM = Claim(
    statement="Fewer calls than with the plain reward, and accuracy stays.",
    metric="calls",
    direction="down",
    baseline="grpo",
    same="pass@1",
)


def otc(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = (SUMS,),
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    smooth: float = 3.0,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train GRPO on correctness times tool efficiency.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        smooth: c, how slowly the efficiency falls; unconfirmed, here the most turns.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": fewer_calls(base=world.correct, smooth=smooth),
        "credit": group_norm(std="sample"),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
