"""Sets of RL tasks with few or many kinds, of equal size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Task

__all__ = ["task_kind", "tasks_of_kinds"]

DIGITS = re.compile(r"\d+")


def task_kind(task: Task) -> str:
    """Kind of an arithmetic task: the expression with the number of digits of each operand.

    Example:
        "12*345" -> "2*3"

    Raises:
        InputError: a task without an expression.
    """
    if "expression" not in task.metadata:
        raise InputError(f"task {task.id!r} has no expression: kinds are those of the world arithmetic")
    return DIGITS.sub(lambda found: str(len(found[0])), task.metadata["expression"])


def tasks_of_kinds(tasks: Sequence[Task], *, kinds: int, most: int) -> list[Task]:
    """First `most` tasks of the `kinds` most frequent hard kinds, in order.

        hard kinds: those with an operand of two digits or more; kinds = 0: all tasks

    Sets of different diversity have equal sizes if there are enough tasks of the kinds.

    Args:
        tasks: training tasks.
        kinds: number of kinds, 0 for all.
        most: size of the set, 1 or more.

    Raises:
        InputError: numbers out of range, or no task of a hard kind.

    Example:
        kinds 1 of tasks 3+4, 12*34, 56*78, 123+456 -> 12*34 and 56*78

    Paper: arXiv:2510.11701, diversity of the RL data set.
    Differs: kinds of sums in place of mathematics, code and science.
    """
    if kinds < 0 or most < 1:
        raise InputError(f"give kinds from 0 and most from 1, not {kinds} and {most}")
    if not kinds:
        return list(tasks[:most])
    hard = Counter(kind for kind in map(task_kind, tasks) if kind[0] != "1" or kind[-1] != "1")
    chosen = {kind for kind, _ in sorted(hard.items(), key=lambda one: (-one[1], one[0]))[:kinds]}
    found = [one for one in tasks if task_kind(one) in chosen][:most]
    if not found:
        raise InputError("no training task has an operand of two digits")
    return found
