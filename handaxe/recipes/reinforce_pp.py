"""REINFORCE++: no group baseline, whitened over the batch, KL in the reward."""

from typing import Any

from handaxe.credit.batch_whiten import batch_whiten
from handaxe.credit.kl_return import kl_return
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player

__all__ = ["reinforce_pp"]

PAPER = Paper(
    title="REINFORCE++: Stabilizing Critic-Free Policy Optimization with Global Advantage Normalization",
    short="REINFORCE++",
    arxiv="2501.03262",
)
CLAIM = Claim(
    statement="Held-out accuracy rises over the policy it starts from.",
    metric="pass@1",
    direction="up",
    baseline="start",
)


def reinforce_pp(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    kl_coefficient: float = 0.01,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with return-to-go that holds a KL penalty, whitened over every token of the batch.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        kl_coefficient: beta of the k1 penalty in the reward.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens, reference=True),
        "reward": world.correct,
        "credit": kl_return(kl_coefficient=kl_coefficient),
        "shape": batch_whiten(),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=token_mean()),
        "annotate": ("old_logp", "ref_logp"),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
