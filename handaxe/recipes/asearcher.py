"""ASearcher: fully asynchronous rollouts behind a staleness gate, trained with decoupled PPO."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.envs.slow import slow
from handaxe.losses.corrections.tis import tis
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player
from handaxe.rewards.weighted import weighted
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.training.pace import Pace

__all__ = ["asearcher"]

PAPER = Paper(
    title="Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with Large-Scale Asynchronous RL",
    short="ASearcher",
    arxiv="2508.07976",
    number=196,
)
CLAIM = Claim(
    statement="With rollouts launched up to four steps ahead of the weights, a step takes less time and "
    "accuracy stays.",
    metric="step_seconds",
    direction="down",
    baseline="asearcher --staleness 0",
    same="pass@1",
    note="A step in which rollouts of several later steps are sampled is long, and those are short, so that over 20 "
    "steps the interval is wide.",
)


def asearcher(
    *,
    model: str = "tiny",
    names: tuple[str, ...] = GYM,
    tools: tuple[ToolName, ...] = ("calculator",),
    steps: int = 20,
    groups: int = 12,
    group_size: int = 8,
    learning_rate: float = 3e-4,
    wait: float = 0.1,
    wait_sigma: float = 1.0,
    staleness: int = 4,
    cap: float = 5.0,
    clip_range: float = 0.4,
    reward_scale: float = 10.0,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with groups launched up to `staleness` steps ahead and the old policy measured when they arrive.

    Differs: reasoning-gym tasks with a calculator instead of questions that need the web; no bias on the reward, which
    would cancel within a group; a step waits for the groups launched for it, where the paper takes the first that end.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task; 16 in the paper.
        learning_rate: of AdamW.
        wait: median seconds that a call takes longer, in training; see envs.slow.
        wait_sigma: spread of the logarithm of the wait.
        staleness: eta, steps that a trained token may be old; 4 in the paper.
        cap: on the weight of the old policy against the sampler; 5 in the paper.
        clip_range: of the ratio; 0.4 in the paper.
        reward_scale: what the reward is multiplied by; 10 in the paper.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "env": slow(world.env, median=wait, sigma=wait_sigma),
        "reward": weighted({"correct": (reward_scale, world.correct)}),
        "credit": group_norm(std=None),
        "select": drop_equal_groups(),
        "loss": policy(
            ratio=token(),
            surrogate=clip(eps_low=clip_range, eps_high=clip_range),
            reduction=token_mean(),
            correction=tis(cap=cap),
        ),
        "annotate": ("old_logp",),
        "pace": Pace(staleness=staleness),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
