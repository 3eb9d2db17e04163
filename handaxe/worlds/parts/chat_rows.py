"""Chat messages of a user's data: rows of role, content and tool calls, in the form of chat servers or of handaxe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from handaxe.core.errors import InputError
from handaxe.core.images import Image, join_images
from handaxe.core.records import Message, Role, ToolCall
from handaxe.models.chat_formats.tool_call_parsing import read_json
from handaxe.worlds.parts.row_images import MARK, place_images

__all__ = ["chat_messages", "part_images"]

ImageReader = Callable[[Any], Image]

LAST = ("user", "tool")
"""Roles of the last message of a prompt."""


def chat_messages(rows: Any, read: ImageReader | None = None, images: Sequence[Image] = ()) -> tuple[Message, ...]:
    """Convert the messages of a row to the prompt of a task.

        {"role": "system", "content": text}                      first message only
        {"role": "user", "content": text}
        {"role": "assistant", "content": text or null, "tool_calls": [call, ...]}
        {"role": "tool", "content": text, "tool_call_id": id}    answers a call of the assistant message before

    A call is {"id": text, "function": {"name": text, "arguments": object or JSON text}}, or {"name": text, "arguments":
    object}. "calls" is another name of "tool_calls". A tool message without an id answers the first open call.

    The content of a user or a tool is text, or a list of parts: {"type": "text", "text": text}, {"type": "image"},
    which stands for the next of `images`, {"type": "image", "image": SOURCE} and {"type": "image_url", "image_url":
    {"url": data URL}}. Images that no part stands for are placed at `<image>` in the texts if their number agrees, else
    before the first text of the user.

    Args:
        rows: list of messages.
        read: reads the image of a part; None refuses images.
        images: of the row, in order.

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
    count, left = 0, list(images)
    for number, row in enumerate(rows, 1):
        role, content, shown, calls = _fields(row, number, read, left)
        if role == "system" and number > 1:
            raise ValueError(f"message {number} is a system message; only the first message may be one")
        if waiting and role != "tool":
            raise ValueError(f"message {number} is of the {role}, and {len(waiting)} calls before have no tool message")
        if role == "tool":
            call = _answered(row, number, waiting)
            made.append(Message("tool", content, call_id=call.id, name=call.name, images=shown))
            continue
        for one in calls:
            name, arguments, given = _call(one, number)
            waiting[given or f"call {count}"] = ToolCall(name, arguments, f"history-{count}")
            count += 1
        if len(waiting) < len(calls):
            raise ValueError(f"message {number} has two calls with one id; give each call an id of its own")
        if not content.strip() and not calls:
            raise ValueError(f"message {number} of the {role} is empty; give text")
        made.append(Message(role, content, tuple(waiting.values()), images=shown))
    if waiting or made[-1].role not in LAST:
        raise ValueError(
            f"the last message is of the {made[-1].role}{' with open calls' if waiting else ''}; end with the user or "
            "a tool, and give the reply of the assistant as the answer"
        )
    return _with_images(made, left, partial=len(left) < len(images))


def part_images(rows: Any) -> list[Any]:
    """List the sources of images in the parts of a row's messages; anything malformed is skipped."""
    contents = [row.get("content") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [found for part in parts if isinstance(part, Mapping) and (found := _part_source(part)) is not None]


def _with_images(made: list[Message], left: list[Image], *, partial: bool) -> tuple[Message, ...]:
    """Place the images of a row whose messages have no image parts.

    Raises:
        ValueError: parts stand for some images of the row, and not for all.
    """
    if not left:
        return tuple(made)
    if partial:
        raise ValueError(f"the row has {len(left)} images more than parts of type image; give one part each")
    texts = [k for k, one in enumerate(made) if one.role in LAST and not one.images]
    if not texts:
        raise ValueError(f"the row has {len(left)} images, and no message of text that can take them")
    counts = [made[k].content.count(MARK) for k in texts]
    if sum(counts) != len(left):
        texts = [next((k for k in texts if made[k].role == "user"), texts[0])]
        counts = [len(left)]
    for k, count in zip(texts, counts, strict=True):
        content, images = place_images(made[k].content, left[:count])
        made[k] = replace(made[k], content=content, images=images)
        del left[:count]
    return tuple(made)


def _parts(parts: list[Any], number: int, read: ImageReader | None, left: list[Image]) -> tuple[str, tuple[Image, ...]]:
    """Text and images of a content in parts. Parts without a source take images from the front of `left`."""
    found: list[str | Image] = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
            found.append(part["text"])
            continue
        if not isinstance(part, Mapping) or part.get("type") not in ("image", "image_url"):
            raise ValueError(f"message {number}: a part is {_shown(part)}; give parts of type text or image")
        if read is None:
            raise ValueError(f"message {number} shows an image; images are read by world jsonl only")
        source = _part_source(part)
        if source is None and not left:
            raise ValueError(f"message {number} shows more images than the row has; give one image for each part")
        try:
            found.append(left.pop(0) if source is None else read(source))
        except InputError as error:
            raise ValueError(f"message {number}: {error}") from error
    return join_images(*found)


def _part_source(part: Mapping[str, Any]) -> Any:
    """Source of the image of a part; None for text, and for a part that stands for an image of the row."""
    if part.get("type") == "image_url":
        found = part.get("image_url")
        return found.get("url", "") if isinstance(found, Mapping) else found or ""
    if part.get("type") != "image":
        return None
    return next((part[name] for name in ("image", "url", "path") if part.get(name) is not None), None)


def _fields(
    row: Any, number: int, read: ImageReader | None, left: list[Image]
) -> tuple[Role, str, tuple[Image, ...], list[Any]]:
    """Role, content, images and calls of a message."""
    if not isinstance(row, Mapping) or row.get("role") not in get_args(Role):
        raise ValueError(f"message {number} is {_shown(row)}; give a role ({', '.join(get_args(Role))}) and a content")
    role: Role = row["role"]
    content = row.get("content")
    calls = row.get("tool_calls") or row.get("calls") or []
    if content is None and calls:
        content = ""
    images: tuple[Image, ...] = ()
    if isinstance(content, list):
        content, images = _parts(content, number, read, left)
    if not isinstance(content, str):
        raise ValueError(f"message {number}: the content is {_shown(content)}; give text")
    if not isinstance(calls, list) or (calls and role != "assistant"):
        raise ValueError(
            f"message {number}: the calls are {_shown(calls)} of the {role}; give a list, of the assistant"
        )
    if images and role not in LAST:
        raise ValueError(f"message {number} of the {role} shows an image; only users and tools show images")
    return role, content, images, calls


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
