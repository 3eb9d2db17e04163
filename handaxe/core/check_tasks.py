"""Type checks for tasks, with messages in terms of the user's code."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from handaxe.core.errors import TaskError
from handaxe.core.images import PLACEHOLDER
from handaxe.core.records import Message, Role, Task

__all__ = ["check_tasks", "describe_value"]

ROOM = 60


def check_tasks(tasks: Sequence[Any]) -> None:
    """Raise TaskError for an element that is no Task, or for a task with elements that are no messages."""
    for task in tasks:
        if not isinstance(task, Task):
            raise TaskError(
                f"among the tasks is {describe_value(task)}: write "
                "Task('my-id', (Message('user', 'What is 2+2?'),), answer='4')"
            )
        if isinstance(task.messages, str):
            raise TaskError(f"the messages of task {task.id!r} are text: write (Message('user', {task.messages!r}),)")
        for place, message in enumerate(task.messages):
            where = f"message {place} of task {task.id!r}"
            if not isinstance(message, Message):
                role, content = _read(message)
                raise TaskError(f"{where} is {describe_value(message)}: write Message({role!r}, {content!r})")
            if message.role not in get_args(Role):
                raise TaskError(f"{where} has the role {message.role!r}; roles are {', '.join(get_args(Role))}")
            count = message.content.count(PLACEHOLDER) if message.images else 0
            if count != len(message.images):
                raise TaskError(
                    f"{where} has {len(message.images)} images and {count} image placeholders in its text: write "
                    f"Message.of({message.role!r}, 'text', image, 'text')"
                )


def describe_value(value: Any) -> str:
    """Describe a value in two words.

    Example:
        describe_value({}) -> "a dict"; describe_value("tiny") -> "the text 'tiny'"; describe_value(None) -> "None"
    """
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) < ROOM else "a text"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _read(message: Any) -> tuple[str, str]:
    """Role and content of an object given as a message."""
    found = message if isinstance(message, Mapping) else {"role": "user", "content": message}
    content = str(found.get("content", "..."))
    return str(found.get("role", "user")), content if len(content) < ROOM else f"{content[:ROOM]}..."
