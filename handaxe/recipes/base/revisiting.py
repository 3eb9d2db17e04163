"""Few tasks, each of which comes again and again: what remembers a task has a use for it."""

from handaxe.methods.method import Method, Recipe, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.selection.few_tasks import few_tasks

__all__ = ["revisiting"]

RECIPE = Recipe(base=partial(plain, eps_high=0.3))


def revisiting(base: Method, *, train_tasks: int = 32) -> Method:
    """Train on the first tasks alone, epoch after epoch.

    Args:
        train_tasks: how many.
    """
    return replace(base, tasks=few_tasks(count=train_tasks))
