"""VerlTool: trajectories alternate between model and tools on their own; nobody waits for another one's tool."""

from typing import Any

from handaxe.credit.group_norm import group_norm
from handaxe.envs.slow import slow
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.recipes.paper import Claim, Paper
from handaxe.recipes.parts import GYM, ToolName, gym_world, player
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.training.pace import Pace

__all__ = ["verltool"]

PAPER = Paper(
    title="VerlTool: Towards Holistic Agentic Reinforcement Learning with Tool Use",
    short="VerlTool",
    arxiv="2509.01055",
    number=33,
)
CLAIM = Claim(
    statement="With tools whose answers take differently long, a step takes less time when no trajectory waits for "
    "another one, and accuracy stays.",
    metric="step_seconds",
    direction="down",
    baseline="verltool --lockstep",
    same="pass@1",
)


def verltool(
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
    lockstep: bool = False,
    max_turns: int = 3,
    max_tokens: int = 48,
    held_out: int = 200,
    seed: int = 0,
) -> dict[str, Any]:
    """Train GRPO while tools really take their time.

    An attempt that was cut by a limit of tokens or turns counts in its group and trains nothing, an option of the
    paper's code (mask_overlong_loss).

    Differs: tools run in this process and not behind a server; a tool that dies ends its attempt unscored, where the
    paper's code shows the policy an error and ends the attempt; the default of turns is 10 there.

    Args:
        model: tiny, smollm2, a folder or a hub name.
        names: reasoning-gym generators to draw tasks from.
        tools: tools offered.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task; 16 in the paper. Unconfirmed.
        learning_rate: of AdamW.
        wait: median seconds that a call takes longer, in training; see envs.slow.
        wait_sigma: spread of the logarithm of the wait.
        lockstep: everybody waits for everybody, as in the synchronous rollout that the paper compares with.
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
        "select": mask_overlong(reasons=("length", "turns")),
        "loss": policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        "pace": Pace(lockstep=lockstep),
        "steps": steps,
        "groups": groups,
        "group_size": group_size,
        "learning_rate": learning_rate,
    }
