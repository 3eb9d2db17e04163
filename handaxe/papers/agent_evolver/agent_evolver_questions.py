"""AgentEvolver (arXiv:2511.10395), self-questioning: train on tasks proposed from unguided exploration."""

from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.agent_evolver.explore import explore
from handaxe.papers.agent_evolver.text_role import TextRole

__all__ = ["agent_evolver_questions"]


def agent_evolver_questions(base: Method, *, explorations: int = 64, proposer: str = "rule") -> Method:
    """Replace the world's training tasks by tasks from the policy's own exploration.

    Args:
        explorations: rollouts without a task, played before the first training step.
        proposer: who proposes the tasks: rule, self, self@start, a model, http://HOST/v1#NAME for a model of a chat
            server, or MODULE:ATTRIBUTE of your own.
    """
    role = TextRole(proposer, name="proposer")
    stage = explore(world=base.world, attempts=explorations, proposer=role)
    return replace(base, tasks=lambda tasks, seed: task_pool(tasks, seed=seed), stages=(*base.stages, stage))
