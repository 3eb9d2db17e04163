"""Go through the first tasks alone, epoch after epoch."""

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order

__all__ = ["few_tasks"]


def few_tasks(*, count: int) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum of few tasks, so that each comes again and again.

        tasks_1 .. tasks_count, in the order that `in_order` gives them

    Args:
        count: how many, >= 1; all where there are fewer. ARPO-GUI trains on 128, which it
            chose by 16 attempts at each (unconfirmed); here they are the first ones.

    Returns:
        (tasks, seed) -> curriculum.

    Raises:
        InputError: a count below 1.

    Example:
        few_tasks(count=2)([a, b, c, d], 0) hands out a and b, in some order, then a and b again

    Idea: what remembers a task learns nothing where no task comes twice.
    """
    if count < 1:
        raise InputError(f"few_tasks takes a count of at least 1, not {count}")
    return lambda tasks, seed: in_order(tasks[:count], seed=seed)
