"""Stage of exploration without a task, and of tasks from the results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Group, Scores, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.seeds import derive_seed
from handaxe.papers.agent_evolver.asked_proposals import asked_proposals
from handaxe.papers.agent_evolver.explored_tasks import explored_tasks
from handaxe.papers.agent_evolver.text_role import TextRole
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.decontaminate import decontaminate
from handaxe.synthesis.task_drafts import task_draft
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.probe import get_task_pool
from handaxe.training.stages.sources import play_at
from handaxe.worlds.world import World

__all__ = ["explore"]

NOTHING: Mapping[str, Any] = {}
EXAMPLES, TESTS = 2, 1000
"""Training tasks that a model reads, and test tasks that none of its proposals may hold."""


def explore(
    *, world: World, attempts: int = 64, proposer: TextRole | None = None, arguments: Mapping[str, Any] = NOTHING
) -> Stage:
    """Make a stage that plays without a task and fills a `task_pool` with tasks made of the trajectories.

        the policy sees the environment and no goal, and plays
        ->  world.exploration.propose, or a model, makes tasks of each trajectory  ->  explored_tasks keeps the valid
        ones  ->  the pool

    Nothing trains. The trajectories are in the record of the stage; on resume the pool is filled from it. The new tasks
    replace the pool's tasks; if no task is valid, the pool stays as it is.

    Args:
        world: has `exploration`.
        attempts: rollouts, each from its own opening, >= 1.
        proposer: who proposes tasks, see `asked_proposals`; None: the rule of the world. Tasks of a model that overlap
            with 1,000 test tasks of the world are left out, see `synthesis.steps.decontaminate`.
        arguments: further arguments of `train`, replacing the context's roles.

    Returns:
        A stage with one row of metrics: rollouts, tasks proposed, repeated, failed and kept; for a model also
        `unread`, explorations without a readable proposal, and `contaminated`, valid tasks that overlap with a test
        task.

    Raises:
        InputError: attempts below 1; the world has no `exploration`; the context's tasks are no `task_pool`; a model
            that is away.

    Example:
        in hops, "4071?" may lead to a search that shows "4071 boss 5526", which makes the task "4071 boss?"

    Paper: arXiv:2511.10395 (AgentEvolver), its self-questioning.
    Unconfirmed: see `papers.agent_evolver.explored_tasks`.
    Differs: see there; tasks of the environment are not mixed in.
    """
    check_train_arguments(arguments)
    exploration = world.need("exploration")
    if attempts < 1:
        raise InputError(f"attempts is {attempts}; give 1 or more")

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "explore")
        openings = in_order(exploration.openings(attempts, derive_seed(site.seed, "openings")), shuffle=False)
        given = {"tasks": openings, "reward": _unscored, "steps": 1, "groups": attempts, "group_size": 1, **arguments}
        played = [trajectory for rated in play_at(site, given) for trajectory in rated.group]
        if proposer is None or proposer.is_rule:
            found, more = explored_tasks(played, propose=exploration.propose, env=site.env), {}
        else:
            proposer.bind(site)
            made = asked_proposals(proposer, played, examples=world.tasks("train", EXAMPLES, 0))
            found = explored_tasks(played, propose=lambda one: made[one.id], env=site.env)
            clean = _clean(found.tasks, world.tasks("test", TESTS, 0), site.seed)
            more = {"unread": sum(not own for own in made.values()), "contaminated": len(found.tasks) - len(clean)}
            found = found._replace(tasks=clean)
        if found.tasks:
            pool.tasks = found.tasks
        counts = {"attempts": len(played), "proposed": found.proposed, "repeated": found.repeated}
        counts |= {"failed": found.failed, "tasks": len(found.tasks), **more}
        return [{"step": 0.0, **{name: float(value) for name, value in counts.items()}}]

    return stage


def _clean(tasks: Sequence[Task], tests: Sequence[Task], seed: int) -> list[Task]:
    """Tasks without overlap with test tasks, under their own ids."""
    outcomes = decontaminate(tests).run([task_draft(one) for one in tasks], SynthesisContext(seed=seed, workers=1))
    return [task for task, outcome in zip(tasks, outcomes, strict=True) if outcome.kept]


def _unscored(group: Group) -> Scores:
    """Score 0 for all rollouts: no task, no correct answer."""
    return Scores(np.zeros(len(group)))
