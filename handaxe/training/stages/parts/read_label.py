"""Label of a task from a probe."""

from __future__ import annotations

from handaxe.core.errors import InputError
from handaxe.core.records import Task

__all__ = ["read_label"]


def read_label(task: Task, label: str) -> float | None:
    """Return the number under a label; None if no rollout was scored.

    Raises:
        InputError: the task lacks the label.

    Example:
        metadata {"probe": 0.25}: read_label(task, "probe") == 0.25
    """
    if label not in task.metadata:
        raise InputError(f"task {task.id!r} has no label {label!r}: put probe(label={label!r}) before this choice")
    value = task.metadata[label]
    return None if value is None else float(value)
