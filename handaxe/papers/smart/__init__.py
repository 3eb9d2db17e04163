"""SMART (arXiv:2502.11435): fine-tune on demonstrations that call a tool only if the policy needs it."""

from handaxe.curricula import task_pool
from handaxe.envs import without_tools
from handaxe.methods.method import Method, replace
from handaxe.papers.smart.by_need import Shown, by_need
from handaxe.training import stages

__all__ = ["smart"]

POOL = 256
"""Tasks that are probed and demonstrated."""


def smart(base: Method, *, demonstrations: Shown = "need", threshold: float = 0.5) -> Method:
    """Probe which tasks the policy solves without tools, then demonstrate calls for the others, without RL.

    Args:
        demonstrations: when demonstrations call: by "need", or "always" and "never", the comparisons.
        threshold: accuracy without tools above which a task needs none. Unconfirmed.
    """
    world = base.world
    probe = stages.probe(label="known", samples=8, groups=64, arguments={"env": without_tools(world.env(world.tools))})
    source = by_need(
        expert=world.need("expert"), label="known", above=threshold, show=demonstrations, plays=world.make_rollout
    )
    sft = stages.teach(source=source, learning_rate=3e-4)
    pool = replace(base, tasks=lambda tasks, seed: task_pool(tasks[:POOL], seed=seed))
    return replace(pool, stages=(*base.stages, probe, sft))
