"""Let the policy try an environment out, and make tasks of what it found."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Group, Scores
from handaxe.curricula.in_order import in_order
from handaxe.ops.seeds import derive_seed
from handaxe.papers.agent_evolver.explored_tasks import explored_tasks
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.probe import tasks_of
from handaxe.training.stages.sources import play_at
from handaxe.worlds.world import World

__all__ = ["explore"]

NOTHING: Mapping[str, Any] = {}


def explore(*, world: World, attempts: int = 64, arguments: Mapping[str, Any] = NOTHING) -> Stage:
    """Make a stage that plays without a task and puts tasks made of what was found into a `task_pool`.

        the policy is told what there is, and not what to do, and plays
        ->  world.exploring.propose makes tasks of each attempt  ->  explored_tasks keeps those that hold  ->  the pool

    Nothing trains. The attempts stand in the record of the stage, from which the pool is filled again on resume. The
    new tasks take the place of those that were there; where none is kept, the pool stays as it was.

    Args:
        world: has `exploring`.
        attempts: at as many openings, >= 1.
        arguments: further ones of `train`, also in place of the site's roles.

    Returns:
        A stage: one row of metrics: attempts, tasks proposed, repeated, failed and kept.

    Raises:
        InputError: no attempts; the world has no `exploring`; the site's tasks are no `task_pool`.

    Example:
        in hops, "4071?" may lead to a search that shows "4071 boss 5526", which makes the task "4071 boss?"

    Paper: arXiv:2511.10395 (AgentEvolver), its self-questioning. Unconfirmed: as told of
        `papers.agent_evolver.explored_tasks`.
    Differs: as told there; tasks of the environment's own are not mixed in.
    """
    check_train_arguments(arguments)
    exploring = world.need("exploring")
    if attempts < 1:
        raise InputError(f"attempts is {attempts}; give 1 or more")

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = tasks_of(site, "explore")
        openings = in_order(exploring.openings(attempts, derive_seed(site.seed, "openings")), shuffle=False)
        given = {"tasks": openings, "reward": _unscored, "steps": 1, "groups": attempts, "group_size": 1, **arguments}
        played = [trajectory for rated in play_at(site, given) for trajectory in rated.group]
        found = explored_tasks(played, propose=exploring.propose, env=site.env)
        if found.tasks:
            pool.tasks = found.tasks
        counts = {"attempts": len(played), "proposed": found.proposed, "repeated": found.repeated}
        counts |= {"failed": found.failed, "tasks": len(found.tasks)}
        return [{"step": 0.0, **{name: float(value) for name, value in counts.items()}}]

    return stage


def _unscored(group: Group) -> Scores:
    """Without a task nothing is right or wrong."""
    return Scores(np.zeros(len(group)))
