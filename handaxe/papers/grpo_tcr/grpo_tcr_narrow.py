"""GRPO-TCR (arXiv:2510.11701) on RL tasks of few kinds: the comparison of a diverse data set."""

from handaxe.curricula import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.grpo_tcr.task_kinds import tasks_of_kinds

__all__ = ["grpo_tcr_narrow"]

POOL = 96
"""Tasks that are probed, as many as in GRPO-TCR."""


def grpo_tcr_narrow(base: Method, *, kinds: int = 1) -> Method:
    """Limit the kinds of RL tasks; evaluations have all kinds.

    Args:
        kinds: number of kinds, by operator and digits of the operands; 0 for all.
    """
    return replace(base, tasks=lambda tasks, seed: task_pool(tasks_of_kinds(tasks, kinds=kinds, most=POOL), seed=seed))
