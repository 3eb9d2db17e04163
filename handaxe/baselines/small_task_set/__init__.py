"""Small task set: GRPO without KL on few tasks that repeat, for methods with a memory of tasks."""

from handaxe.curricula.few_tasks import few_tasks
from handaxe.methods.method import Method, replace

__all__ = ["small_task_set"]


def small_task_set(base: Method, *, train_tasks: int = 32) -> Method:
    """Train on the first tasks alone, epoch after epoch.

    Args:
        train_tasks: number of tasks.
    """
    return replace(base, tasks=few_tasks(count=train_tasks))
