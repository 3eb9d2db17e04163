"""Bench of rollouts that a policy plays at tasks of a world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe import engines
from handaxe.core.errors import InputError, UnscoredError
from handaxe.core.records import RatedGroup, Sampling
from handaxe.curricula.task_pool import task_pool
from handaxe.evaluation.bench_items import BenchItem, answer_item
from handaxe.evaluation.wrong_answers import CRITERION
from handaxe.models.load import Policy, load
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import played
from handaxe.worlds.world import Split, World

__all__ = ["bench_rollouts"]

TURNS = 4
"""Turns of a rollout at most."""
SAMPLING = Sampling(temperature=1.0, max_tokens=64)


def bench_rollouts(
    *, model: str | Policy, world: World, size: int, sampling: Sampling = SAMPLING
) -> Callable[[Split | None, int, int], list[BenchItem]]:
    """Make a maker of tasks with rollouts of a policy as candidates, labelled by the rule of the world.

    Args:
        model: name or folder of the policy, loaded at the first call; or a loaded policy.
        world: of the tasks.
        size: rollouts of a task.
        sampling: of the policy.

    Returns:
        (split, tasks at most, seed) -> tasks; split None is test. A task with a rollout without a turn, or that the
        rule does not score, is left out, so that each task has `size` candidates.

    Raises:
        InputError: no rollout to a task; and by the maker, a policy that cannot be loaded, or no task that is left.

    Example:
        bench_rollouts(model="tiny", world=arithmetic(), size=8)("test", 100, 0)

    Idea: best of n on samples of the policy that a reward model will meet.
    """
    if size < 1:
        raise InputError(f"a task has {size} rollouts; give 1 or more")
    loaded = list[Policy]()

    def make(split: Split | None, count: int, seed: int) -> list[BenchItem]:
        if not loaded:
            loaded.append(load(model))
        tasks = world.tasks(split or "test", count, seed)
        site = make_site(
            engine=engines.LocalEngine(loaded[0].model),
            format=loaded[0].format,
            env=world.env(world.tools),
            tasks=task_pool(tasks, shuffle=False),
            rollout=world.make_rollout(TURNS),
            reward=world.correct,
            sampling=sampling,
            seed=seed,
        )
        try:
            rated = played(groups=len(tasks), group_size=size)(site)
        except UnscoredError as error:
            raise InputError(f"world {world.name!r} scores no rollout of this policy: {error}") from error
        items = [_item(one) for one in rated if _is_whole(one, size)]
        if not items:
            raise InputError(
                f"the rule of world {world.name!r} scores no rollout of this policy: choose another --model"
            )
        return items

    return make


def _item(rated: RatedGroup) -> BenchItem:
    return answer_item(list(rated.group), CRITERION, correct=[bool(one > 0.5) for one in rated.scores.outcome])


def _is_whole(rated: RatedGroup, size: int) -> bool:
    scored = not np.isnan(rated.scores.outcome).any()
    return scored and len(rated.group) == size and all(one.turns for one in rated.group)
