"""Validation of the arguments of a world's `tasks`."""

from __future__ import annotations

from handaxe.core.errors import InputError, TaskError
from handaxe.worlds.world import Split

__all__ = ["check_count"]


def check_count(split: Split, count: int) -> None:
    """Check a split and a number of tasks before any task is drawn.

    Raises:
        TaskError: count below 1. InputError: a split other than train and test; rejection sampling by split would not
            end for it, or would return training tasks.

    Example:
        check_count("validation", 8) raises InputError: split must be train or test, not 'validation'
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    if split not in ("train", "test"):
        raise InputError(f"split must be train or test, not {split!r}")
