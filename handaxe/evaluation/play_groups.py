"""Rollouts of a policy at tasks of a world, scored by the rule of the world."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import RatedGroup, Sampling
from handaxe.curricula.task_pool import task_pool
from handaxe.ops.seeds import derive_seed
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import played
from handaxe.worlds.world import Split, World

__all__ = ["play_groups"]

SAMPLING = Sampling(temperature=1.0, max_tokens=48)


def play_groups(
    engine: Engine,
    format: ChatFormat,
    world: World,
    *,
    split: Split,
    tasks: int,
    siblings: int,
    seed: int,
    sampling: Sampling = SAMPLING,
) -> list[RatedGroup]:
    """Play a policy, a group of rollouts a task; groups with a rollout without a score or a turn are left out.

    Args:
        engine, format: the policy.
        world: gives tasks, tools and the rule.
        split: of the tasks.
        tasks: number of tasks.
        siblings: rollouts of a task.
        seed: of tasks and rollouts.
        sampling: of the policy.

    Example:
        play_groups(engine, format, arithmetic(), split="test", tasks=32, siblings=16, seed=0)

    Idea: studies of judges rank stored rollouts, so that each judge meets the same ones.
    """
    own = derive_seed("play groups", seed, split) % 2**31
    site = make_site(
        engine=engine,
        format=format,
        env=world.env(world.tools),
        rollout=world.make_rollout(world.start_turns),
        tasks=task_pool(world.tasks(split, tasks, own), shuffle=False),
        reward=world.correct,
        sampling=sampling,
        seed=own,
    )
    found = played(groups=tasks, group_size=siblings)(site)
    return [one for one in found if not np.isnan(one.scores.outcome).any() and all(own.turns for own in one.group)]
