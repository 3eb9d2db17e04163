"""Chat messages of a user's data: rows of role, content and tool calls, in the form of chat servers or of handaxe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from handaxe.core.records import Message, Role, ToolCall
from handaxe.models.chat_formats.tool_call_parsing import read_json

__all__ = ["chat_messages"]

LAST = ("user", "tool")
"""Roles of the last message of a prompt."""


def chat_messages(rows: Any) -> tuple[Message, ...]:
    """Convert the messages of a row to the prompt of a task.

        {"role": "system", "content": text}                      first message only
        {"role": "user", "content": text}
        {"role": "assistant", "content": text or null, "tool_calls": [call, ...]}
        {"role": "tool", "content": text, "tool_call_id": id}    answers a call of the assistant message before

    A call is {"id": text, "function": {"name": text, "arguments": object or JSON text}}, or {"name": text, "arguments":
    object}. "calls" is another name of "tool_calls". A tool message without an id answers the first open call.

    Args:
        rows: list of messages.

    Returns:
        Messages with the call ids history-0, history-1, ..., distinct from ids of the policy's calls.

    Raises:
        ValueError: the conversation has another form, or does not end with a message of the user or a tool. The
            message names the number of the chat message, from 1.

    Example:
        chat_messages([{"role": "user", "content": "2+2=?"}]) -> (Message("user", "2+2=?"),)
    """
    if not isinstance(rows, list) or not rows:
        raise ValueError(f'messages is {_shown(rows)}; give [{{"role": "user", "content": text}}, ...]')
    made: list[Message] = []
    waiting: dict[str, ToolCall] = {}
    count = 0
    for number, row in enumerate(rows, 1):
        role, content, calls = _fields(row, number)
        if role == "system" and number > 1:
            raise ValueError(f"message {number} is a system message; only the first message may be one")
        if waiting and role != "tool":
            raise ValueError(f"message {number} is of the {role}, and {len(waiting)} calls before have no tool message")
        if role == "tool":
            call = _answered(row, number, waiting)
            made.append(Message("tool", content, call_id=call.id, name=call.name))
            continue
        for one in calls:
            name, arguments, given = _call(one, number)
            waiting[given or f"call {count}"] = ToolCall(name, arguments, f"history-{count}")
            count += 1
        if len(waiting) < len(calls):
            raise ValueError(f"message {number} has two calls with one id; give each call an id of its own")
        if not content.strip() and not calls:
            raise ValueError(f"message {number} of the {role} is empty; give text")
        made.append(Message(role, content, tuple(waiting.values())))
    if waiting or made[-1].role not in LAST:
        raise ValueError(
            f"the last message is of the {made[-1].role}{' with open calls' if waiting else ''}; end with the user or "
            "a tool, and give the reply of the assistant as the answer"
        )
    return tuple(made)


def _fields(row: Any, number: int) -> tuple[Role, str, list[Any]]:
    """Role, content and calls of a message."""
    if not isinstance(row, Mapping) or row.get("role") not in get_args(Role):
        raise ValueError(f"message {number} is {_shown(row)}; give a role ({', '.join(get_args(Role))}) and a content")
    role: Role = row["role"]
    content = row.get("content")
    calls = row.get("tool_calls") or row.get("calls") or []
    if content is None and calls:
        content = ""
    if not isinstance(content, str):
        raise ValueError(f"message {number}: the content is {_shown(content)}; give text")
    if not isinstance(calls, list) or (calls and role != "assistant"):
        raise ValueError(
            f"message {number}: the calls are {_shown(calls)} of the {role}; give a list, of the assistant"
        )
    return role, content, calls


def _call(call: Any, number: int) -> tuple[str, dict[str, Any], str]:
    """Name, arguments and id of a call."""
    body = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise ValueError(f'message {number}: a call is {_shown(call)}; give {{"name": text, "arguments": object}}')
    arguments = body.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = read_json(arguments)
        except ValueError as error:
            raise ValueError(f"message {number}: the arguments of {body['name']} are not JSON: {error}") from error
    if not isinstance(arguments, Mapping):
        raise ValueError(f"message {number}: the arguments of {body['name']} are {_shown(arguments)}; give an object")
    # A table has None for arguments of other rows.
    kept = {key: value for key, value in arguments.items() if value is not None}
    return body["name"], kept, str(call.get("id") or "")


def _answered(row: Mapping[str, Any], number: int, waiting: dict[str, ToolCall]) -> ToolCall:
    """Remove the call that a tool message answers from the open calls, and return it."""
    given = row.get("tool_call_id") or row.get("call_id")
    if not waiting or (given and str(given) not in waiting):
        which = "a call" if given is None else f"call {_shown(given)}"
        raise ValueError(f"message {number} answers {which}, and no open call of the assistant before is one")
    return waiting.pop(str(given)) if given else waiting.pop(next(iter(waiting)))


def _shown(value: Any) -> str:
    return f"{value!r:.60}"
