"""Environment of a single turn: the policy chooses calls, and no call is carried out."""

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply

__all__ = ["ToolChoice", "tool_choice"]


def tool_choice(tools: Sequence[ToolSchema]) -> EnvFactory:
    """Offer tools without running any, for rewards based on reference calls.

    Args:
        tools: schemas of the tools; a task offers the tools that it names, or all tools if it names none.

    Returns:
        A factory of environments that end as completed after the first turn.

    Raises:
        TaskError: a task offers an unknown tool.

    Example:
        tool_choice([calculator.schema])(task).step(turn, seed=0).done is True
    """

    def make(task: Task) -> ToolChoice:
        known = {schema.name: schema for schema in tools}
        names = list(known) if task.tools is None else list(task.tools)
        if unknown := [name for name in names if name not in known]:
            raise TaskError(f"task {task.id!r} offers {', '.join(unknown)}, but there are {', '.join(known) or 'none'}")
        return ToolChoice(task, tuple(known[name] for name in names))

    return make


class ToolChoice:
    """Environment made by `tool_choice`."""

    def __init__(self, task: Task, offered: tuple[ToolSchema, ...]):
        self._task, self._offered = task, offered

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """Return the task's messages and the offered tools."""
        return self._task.messages, self._offered

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """End the rollout without a reply."""
        del turn, seed
        return EnvReply(done=True)

    def report(self) -> Mapping[str, Any]:
        """Return an empty report, because there is no state."""
        return {}

    def snapshot(self) -> None:
        """Return nothing, because there is no state."""

    def restore(self, state: Any) -> None:
        """Ignore the snapshot, because there is no state."""
        del state

    def close(self) -> None:
        """Do nothing: no resource is held."""
