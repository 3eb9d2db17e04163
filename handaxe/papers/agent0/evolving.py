"""Two methods that train each other: a proposer's questions are what the policy learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order
from handaxe.methods.build import ROWS
from handaxe.methods.earlier import learning
from handaxe.methods.method import Method
from handaxe.papers.agent0.frontier import frontier
from handaxe.papers.agent0.reinforce_second import reinforce_second
from handaxe.training.loop.aux_policy import SecondPolicy
from handaxe.training.stages.reinforce import reinforce
from handaxe.training.stages.repeat import repeat

__all__ = ["evolving"]


def evolving(
    solver: Method,
    *,
    proposer: Method,
    opening: Task,
    allowed: Callable[[Task], bool],
    asks: str = "solver",
    earlier: int = 1,
    steps: int = 5,
    questions: int = 32,
    pool_steps: int = 5,
    solver_steps: int = 15,
) -> Method:
    """The solver's method, before which stages train a proposer and make the solver's tasks of its questions.

        `earlier` times:   curriculum: the proposer trains, the solver is asked
                           data:       a pool of questions that the solver is of two minds about
                           solver:     the solver trains on the pool
        then curriculum and data once more; the run itself is the solver's last step

    Both begin as the policy that the run starts from, and both are in every checkpoint.

    Args:
        solver: whose tasks are a `task_pool`; its loss, credit, groups and group size are those of every solver's step,
            the learning rate of its setting is that of both.
        proposer: whose rollout asks `asks` (`papers.agent0.proposing`), and whose reward reads what came of it.
        opening: what the proposer is told, the only task that it has.
        allowed: which questions may become tasks.
        asks: the name under which it asks the solver.
        earlier: full rounds before the last, >= 0; 2 in the paper.
        steps, questions: of a curriculum; questions a step.
        pool_steps: steps of as many questions that a pool is made of.
        solver_steps: of the earlier solver.
    """
    own, second = solver.settings, SecondPolicy(reference="ref_logp" in proposer.annotate)
    shared: dict[str, Any] = {"learning_rate": own.learning_rate, "micro_batch_rows": ROWS}
    told = in_order([opening], shuffle=False)
    asking = {"tasks": told, "rollout": proposer.rollout, "reward": proposer.reward, **shared}
    trained = {**asking, **learning(proposer), "steps": steps, "groups": 1, "group_size": questions}
    solved = {**shared, **learning(solver), "steps": solver_steps}
    solved |= {"groups": own.groups, "group_size": own.group_size}
    curriculum = reinforce_second(second=second, asks=asks, arguments=trained)
    data = frontier(second=second, asks=asks, allowed=allowed, steps=pool_steps, group_size=questions, arguments=asking)
    last = reinforce(arguments={**solved, "learners": (second,)})
    stages = (*solver.stages, repeat(stages=[curriculum, data, last], times=earlier), curriculum, data)
    return replace(solver, stages=stages, learners=(*solver.learners, second))
