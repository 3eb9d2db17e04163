"""Reference calls of tasks, stored in their metadata."""

from handaxe.core.records import Task, ToolCall

__all__ = ["reference_calls"]


def reference_calls(task: Task) -> tuple[ToolCall, ...]:
    """Read the reference calls from `task.metadata["gold_calls"]`."""
    return tuple(ToolCall(one["name"], one["arguments"]) for one in task.metadata["gold_calls"])
