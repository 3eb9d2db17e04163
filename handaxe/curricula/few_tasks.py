"""Repeat a small subset of the tasks, epoch after epoch."""

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order

__all__ = ["few_tasks"]


def few_tasks(*, count: int) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum of a few tasks, so that each task recurs often.

        tasks_1 .. tasks_count, in the order of `in_order`

    Args:
        count: number of tasks, >= 1; all tasks if fewer exist. ARPO-GUI trains on 128 tasks, chosen by 16 rollouts each
            (unconfirmed); this curriculum takes the first ones.

    Returns:
        (tasks, seed) -> curriculum.

    Raises:
        InputError: a count below 1.

    Example:
        few_tasks(count=2)([a, b, c, d], 0) returns a and b, in some order, then a and b again

    Idea: a mechanism with a memory of tasks needs tasks that recur.
    """
    if count < 1:
        raise InputError(f"few_tasks takes a count of at least 1, not {count}")
    return lambda tasks, seed: in_order(tasks[:count], seed=seed)
