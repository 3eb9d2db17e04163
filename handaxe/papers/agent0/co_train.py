"""Alternating stages for a proposer of questions and a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order
from handaxe.methods.method import Method
from handaxe.methods.rl_stage import update_arguments
from handaxe.papers.agent0.frontier import frontier
from handaxe.papers.agent0.reinforce_second import reinforce_second
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.stages.reinforce import reinforce
from handaxe.training.stages.repeat import repeat

__all__ = ["co_train"]


def co_train(
    solver: Method,
    *,
    proposer: Method,
    opening: Task,
    accept: Callable[[Task], bool],
    aux_name: str = "solver",
    earlier_rounds: int = 2,
    steps: int = 5,
    questions: int = 32,
    pool_steps: int = 5,
    solver_steps: int = 15,
) -> Method:
    """Precede the solver's method by stages that train a proposer and make tasks of new questions.

        `earlier_rounds` times:   curriculum: the proposer trains; the solver answers its questions
                                  data:       a pool of the questions that the solver is uncertain about
                                  solver:     the solver trains on the pool
        then curriculum and data once more; the run's own loop is the last solver phase

    Both policies start from the run's policy, and every checkpoint has both.

    Args:
        solver: method with a `task_pool` as tasks; its loss, credit, groups and group size are those of every solver
            phase, the learning rate of its settings is that of both policies.
        proposer: method with a rollout that asks the aux policy `aux_name` (`papers.agent0.proposing`) and a reward of
            the resulting proposals.
        opening: the only task of the proposer.
        accept: filter of the questions that may become tasks.
        aux_name: name of the aux policy by which the proposer's rollouts reach the solver.
        earlier_rounds: full rounds before the last one, >= 0; 2 in the paper.
        steps: training steps of a curriculum phase; 5 to 6 in the released code.
        questions: questions a step.
        pool_steps: steps of `questions` questions each that a pool is made of.
        solver_steps: training steps of an earlier solver phase.

    Returns:
        The solver's method with further stages and the proposer among its learners.

    Example:
        earlier_rounds 1  ->  stages repeat(curriculum, data, solver), curriculum, data;  0  ->  curriculum, data

    Paper: arXiv:2511.16043 (Agent0), the alternation of curriculum agent and executor agent.
    Differs: the sizes of the phases.
    """
    own, second = solver.settings, AuxLearner(reference="ref_logp" in proposer.annotate)
    shared: dict[str, Any] = {"learning_rate": own.learning_rate}
    prompts = in_order([opening], shuffle=False)
    writing = {"tasks": prompts, "rollout": proposer.rollout, "reward": proposer.reward, **shared}
    proposer_arguments = {**writing, **update_arguments(proposer), "steps": steps, "groups": 1, "group_size": questions}
    solver_arguments = {**shared, **update_arguments(solver), "steps": solver_steps}
    solver_arguments |= {"groups": own.groups, "group_size": own.group_size}
    curriculum = reinforce_second(second=second, aux_name=aux_name, arguments=proposer_arguments)
    sizes = {"steps": pool_steps, "group_size": questions}
    data = frontier(second=second, aux_name=aux_name, accept=accept, **sizes, arguments=writing)
    solve = reinforce(arguments={**solver_arguments, "learners": (second,)})
    stages = (*solver.stages, repeat(stages=[curriculum, data, solve], times=earlier_rounds), curriculum, data)
    return replace(solver, stages=stages, learners=(*solver.learners, second))
