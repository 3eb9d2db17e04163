"""GRPO: the group is the baseline."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.terms.kl import kl
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["grpo"]

PAPER = Paper(
    title="DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models",
    short="GRPO",
    arxiv="2402.03300",
)
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def grpo(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    kl_coefficient: float = 0.04,
    last_number: bool = False,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with group-normalised advantages, PPO's clip and a KL penalty in the loss.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        kl_coefficient: beta of the k3 penalty against the starting policy; 0.04 in the paper.
        last_number: score the last number of an answer, for models that speak in sentences.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, last_number=last_number, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens, reference=True),
        "reward": world.correct,
        "credit": group_norm(std="sample"),
        "loss": policy(
            ratio=token(), surrogate=clip(), reduction=rollout_mean(), terms=(kl(coefficient=kl_coefficient),)
        ),
        "annotate": ("ref_logp",),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
