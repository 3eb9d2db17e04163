"""Multiplies advantages by the weight of their task."""

from collections.abc import Callable
from dataclasses import replace

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Shaper
from handaxe.core.records import Advantages, Group, Task
from handaxe.ops.ragged import multiplied

__all__ = ["task_weight"]


def task_weight(*, weight: Callable[[Task], float]) -> Shaper:
    """Weigh tasks against each other: all that is learned of one counts so many times.

        A'_i,t = w(q) A_i,t                w(q) >= 0: of the task q that the group is about

    Put it behind a credit with `shaped`. A credit that centres rewards without scaling them (`group_norm(std=None)`)
    leaves w alone to say how much a task counts; one that scales is weighted all the same. Value targets (`returns`),
    channels and what trains stay as they are.

    Args:
        weight: of a task, such as `worlds.screen.layout.difficulty`, from 0.5 for the largest target to 1.5 for the
            smallest, as in the paper.

    Returns:
        A shaper: (Group, Advantages) -> Advantages. It looks neither at rewards nor at siblings.

    Raises:
        TaskError: a weight below 0 or not finite.

    Example:
        weight 1.5; advantages 0.5, -0.5  ->  0.75, -0.75

    Paper: arXiv:2505.15810 (GUI-G1), section 3.3: the objective of a query times its difficulty.
    Differs: the advantage is weighted, and not the whole objective; that is the same wherever the loss is linear in the
        advantage, and leaves penalties of the loss, of which the paper has none, unweighted.
    """

    def shaper(group: Group, advantages: Advantages) -> Advantages:
        factor = float(weight(group.task))
        if not 0 <= factor < float("inf"):
            raise TaskError(f"task {group.task.id!r} weighs {factor}; give a finite number of 0 or more")
        return replace(advantages, tokens=multiplied(advantages.tokens, factor))

    return shaper
