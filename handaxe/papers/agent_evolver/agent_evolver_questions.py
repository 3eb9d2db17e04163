"""AgentEvolver (arXiv:2511.10395), self-questioning: train on tasks proposed from unguided exploration."""

from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.agent_evolver.explore import explore

__all__ = ["agent_evolver_questions"]


def agent_evolver_questions(base: Method, *, explorations: int = 64) -> Method:
    """Replace the world's training tasks by tasks from the policy's own exploration.

    Args:
        explorations: rollouts without a task, played before the first training step.
    """
    stage = explore(world=base.world, attempts=explorations)
    return replace(base, tasks=lambda tasks, seed: task_pool(tasks, seed=seed), stages=(*base.stages, stage))
