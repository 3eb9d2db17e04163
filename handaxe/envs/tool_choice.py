"""A single decision: which calls to make. Nothing is executed and nothing answers; the first turn is the last."""

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply

__all__ = ["ToolChoice", "tool_choice"]


def tool_choice(tools: Sequence[ToolSchema]) -> EnvFactory:
    """Offer tools without running them, for rewards that compare the calls with reference calls.

    Args:
        tools: schemas of the tools; a task offers those it names, all when it names none.

    Returns:
        A factory of environments whose attempts end as completed after one turn, whatever was said in it.

    Raises:
        TaskError: when a task offers a tool that is not there.

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
    """The environment of one attempt; see `tool_choice`."""

    def __init__(self, task: Task, offered: tuple[ToolSchema, ...]):
        self._task, self._offered = task, offered

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """The task's messages and the tools offered."""
        return self._task.messages, self._offered

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Over, without a word."""
        del turn, seed
        return EnvReply(done=True)

    def report(self) -> Mapping[str, Any]:
        """Nothing to report: there is no state."""
        return {}

    def snapshot(self) -> None:
        """There is no state."""

    def restore(self, state: Any) -> None:
        """There is no state."""
        del state

    def close(self) -> None:
        """Nothing to release."""
