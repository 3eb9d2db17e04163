"""CuES (arXiv:2512.01311): train on tasks from curious exploration with a memory, executed and rewritten with hints."""

from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.cues.curious import Explore, curious

__all__ = ["cues"]


def cues(
    base: Method,
    *,
    explore: Explore = "curious",
    rollouts: int = 16,
    explore_steps: int = 18,
    rewrites: int = 3,
) -> Method:
    """Replace the world's training tasks by tasks from exploration.

    Args:
        explore: "curious" prefers actions that were made least often; "random" draws them.
        rollouts: of the exploration; 4 in the released code.
        explore_steps: actions of a rollout.
        rewrites: variants of a task that reveal more and more of its guideline.
    """
    stage = curious(world=base.world, explore=explore, rollouts=rollouts, steps=explore_steps, rewrites=rewrites)
    return replace(base, tasks=lambda tasks, seed: task_pool(tasks, seed=seed), stages=(*base.stages, stage))
