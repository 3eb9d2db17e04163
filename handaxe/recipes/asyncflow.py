"""AsyncFlow: groups flow from stage to stage as they finish, and rollouts run one step ahead of the weights."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.envs.slow import slow
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player
from handaxe.training.pace import Pace

__all__ = ["asyncflow"]

PAPER = Paper(
    title="AsyncFlow: An Asynchronous Streaming RL Framework for Efficient LLM Post-Training",
    short="AsyncFlow",
    arxiv="2507.01663",
    number=184,
)
CLAIM = Claim(
    statement="With rollouts one step ahead of the weights, a step takes less time and the reward stays where it is.",
    metric="step_seconds",
    direction="down",
    baseline="asyncflow --staleness 0",
    same="reward",
)


def asyncflow(
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
    staleness: int = 1,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train GRPO with the staleness that the paper allows; reward and features of a group are ready when it is.

    Differs: sampling and training take turns on one machine, so that only the waiting for tools overlaps the update;
    live attempts go on under the new weights at once, where the paper's generator takes them at its next iteration.
    Unconfirmed: the details of the paper's loss, since its code is not public.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        wait: median seconds that a call takes longer, in training; see envs.slow.
        wait_sigma: spread of the logarithm of the wait.
        staleness: steps that a trained token may be old; 1 in the paper.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        held_out: tasks that are evaluated on.
        seed: of everything.
    """
    world = gym_world(names=names, tools=tools, held_out=held_out, seed=seed)
    return {
        **player(world, model=model, seed=seed, max_turns=max_turns, max_tokens=max_tokens),
        "env": slow(world.env, median=wait, sigma=wait_sigma),
        "reward": world.correct,
        "credit": group_norm(std="sample"),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        "pace": Pace(staleness=staleness),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
