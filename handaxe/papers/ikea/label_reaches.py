"""Splits tasks into two kinds by the label of a probe."""

from collections.abc import Callable

from handaxe.core.records import Task
from handaxe.training.stages.parts.read_label import read_label

__all__ = ["label_reaches"]

ROUNDING = 1e-9


def label_reaches(*, label: str = "probe", least: float = 0.5) -> Callable[[Task], bool]:
    """Make a predicate: the task's label is at least a bound, up to rounding.

    Args:
        label: key in `Task.metadata` that `probe` wrote. A label of None, of a task that could not be scored, gives
            False.
        least: the bound. IKEA counts a task as known if at least half of the answers without search are correct
            (unconfirmed: one correct answer may suffice).

    Raises:
        InputError: by the predicate, for a task without the label.

    Example:
        choose_by_label(label="probe", balance=label_reaches(least=0.5)): as many known as unknown tasks

    Idea: a balanced mixture needs two kinds of tasks, and a probe's label is a number.
    """

    def reaches(task: Task) -> bool:
        value = read_label(task, label)
        return value is not None and value >= least - ROUNDING

    return reaches
