"""ToolRL: grade each call against the reference, name, parameters and values apart."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import calls_world, player, reference_calls
from handaxe.rewards import weighted
from handaxe.rewards.graded_call import Grade, graded_call
from handaxe.rewards.well_formed import well_formed

__all__ = ["toolrl"]

PAPER = Paper(title="ToolRL: Reward is All Tool Learning Needs", short="ToolRL", arxiv="2504.13958", number=12)
CLAIM = Claim(
    statement="Finer grading of calls learns better calls than grading them all or nothing.",
    metric="pass@1",
    direction="up",
    baseline="toolrl --grade coarse",
)


def toolrl(
    *,
    model: str = "tiny",
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    grade: Grade = "fine",
    scale: float = 3.0,
    max_turns: int = 1,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train GRPO on a single decision: which call to make, graded finely.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        grade: fine, refined, intermediate or coarse; fine in the paper.
        scale: the reward of calls that equal the reference; 3 in the paper.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = calls_world(held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "reward": weighted(
            {
                "calls": (1.0, graded_call(grade=grade, scale=scale, gold=reference_calls)),
                "format": (1.0, well_formed()),
            }
        ),
        "credit": group_norm(std="sample"),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
