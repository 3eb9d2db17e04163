"""Tells tasks of two kinds apart by what a probe labelled them with."""

from collections.abc import Callable

from handaxe.core.records import Task
from handaxe.training.stages.parts.label_of import label_of

__all__ = ["label_reaches"]

ROUNDING = 1e-9


def label_reaches(*, label: str = "probe", least: float = 0.5) -> Callable[[Task], bool]:
    """Make a function that says whether a task's label is at least so much, up to rounding.

    Args:
        label: the key in `Task.metadata` that `probe` wrote; None, of a task that could not be scored, reaches nothing.
        least: IKEA takes what the policy gets right without a search in at least half of its tries as known
            (unconfirmed: it may be in one of them).

    Raises:
        InputError: by the function, for a task that was never labelled so.

    Example:
        choose_by_label(label="probe", balance=label_reaches(least=0.5)): as many known as unknown ones

    Idea: what is to be mixed is of two kinds, and a label is a number.
    """

    def reaches(task: Task) -> bool:
        value = label_of(task, label)
        return value is not None and value >= least - ROUNDING

    return reaches
