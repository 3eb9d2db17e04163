"""One rollout of each task, for studies of a frozen policy."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.protocols import ChatFormat, Engine, EnvFactory, Rollout
from handaxe.core.records import Sampling, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver.driver import run

__all__ = ["play_tasks"]


def play_tasks(
    tasks: Sequence[Task],
    *,
    env: EnvFactory,
    rollout: Rollout,
    engine: Engine,
    format: ChatFormat,
    sampling: Sampling,
    seed: int,
) -> list[Trajectory]:
    """Play each task once, all together.

    Args:
        tasks: ids may repeat; a repeated task is played with other draws.
        env: a new instance a rollout.
        rollout: the strategy; of several trajectories the first is returned.
        engine, format: the policy.
        sampling: of all turns.
        seed: of the draws, together with place and id of the task; two strategies meet equal draws.

    Returns:
        A trajectory per task, in order.

    Example:
        play_tasks(world.tasks("test", 24, 0), env=world.env(world.tools), rollout=linear(), engine=engine, ...)

    Idea: arms of a study with equal tasks and equal draws.
    """
    context = engine.max_length
    attempts = [
        Attempt(task, env, format, sampling, f"{number}/{task.id}", 0, derive_seed(seed, number, task.id), context)
        for number, task in enumerate(tasks)
    ]
    return [own[0] for own in run(attempts, rollout, engine, workers=1, lockstep=True)]
