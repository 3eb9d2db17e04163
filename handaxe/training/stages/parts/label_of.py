"""What a probe labelled a task with."""

from __future__ import annotations

from handaxe.core.errors import InputError
from handaxe.core.records import Task

__all__ = ["label_of"]


def label_of(task: Task, label: str) -> float | None:
    """The number under a label; None, since none of its attempts was scored.

    Raises:
        InputError: the task was never labelled so.

    Example:
        metadata {"probe": 0.25}: label_of(task, "probe") == 0.25
    """
    if label not in task.metadata:
        raise InputError(f"task {task.id!r} has no label {label!r}: put probe(label={label!r}) before this choice")
    value = task.metadata[label]
    return None if value is None else float(value)
