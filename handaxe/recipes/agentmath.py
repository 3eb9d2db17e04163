"""AgentMath: long rollouts go on in the next step, and only finished ones train."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.envs.slow import slow
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player
from handaxe.training.pace import Pace

__all__ = ["agentmath"]

PAPER = Paper(
    title="AgentMath: Empowering Mathematical Reasoning for Large Language Models via Tool-Augmented Agent",
    short="AgentMath",
    arxiv="2512.20745",
    number=149,
)
CLAIM = Claim(
    statement="When a step plays every rollout only so far and goes on with the long ones in the next step, more "
    "tokens are trained in a second and accuracy stays.",
    metric="trained_tokens_per_second",
    direction="up",
    baseline="agentmath --segment-tokens None --segment-calls None",
    same="pass@1",
    note="Seconds of a step do not decide: a step with segments is shorter since it ends fewer rollouts. Rollouts of "
    "this world are short and most make one call, so there are no long ones to cut; the bound of one call only spreads "
    "them over two steps or more.",
)


def agentmath(
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
    segment_tokens: int | None = 48,
    segment_calls: int | None = 1,
    max_turns: int = 4,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train with agentic partial rollouts: DAPO's token-level loss on rollouts whose segments had different weights.

    A step that finishes fewer rollouts also trains fewer: compare accuracy at equal tokens, not at equal steps.

    Differs: without the paper's synthetic data, stages of growing limits, reward for few calls, and balancing of
    requests over replicas. Unconfirmed: the sizes of its segments, and its clipping, for which DAPO's stands.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks in play at a time; a step trains those of them whose rollouts have all ended.
        group_size: attempts a task.
        learning_rate: of AdamW.
        wait: median seconds that a call takes longer, in training; see envs.slow.
        wait_sigma: spread of the logarithm of the wait.
        segment_tokens: tokens a rollout may add in one step; None: no bound.
        segment_calls: calls a rollout may make in one step; None: no bound.
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
        "loss": policy(ratio=token(), surrogate=clip(eps_high=0.28), reduction=token_mean()),
        "pace": Pace(segment_tokens=segment_tokens, segment_calls=segment_calls),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
