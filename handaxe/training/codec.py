"""Records as text and bytes and back, for the run record and for nothing else.

Text is JSON in ASCII, so that lone surrogates and control characters in what a tool said survive. What JSON lacks is
tagged: tuples, bytes, numpy arrays and mappings whose keys are not strings come back as they were. Anything else
comes back as its `repr`: a record is for reading, and one odd object in a task must not end a run.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from handaxe.records import (
    Branch,
    Message,
    ParsedTurn,
    Sampling,
    Task,
    TokenSequence,
    ToolCall,
    ToolReply,
    ToolSchema,
)

__all__ = [
    "dump_branch",
    "dump_json",
    "dump_messages",
    "dump_parsed",
    "dump_replies",
    "dump_sampling",
    "dump_task",
    "dump_text",
    "dump_tools",
    "load_branch",
    "load_json",
    "load_messages",
    "load_parsed",
    "load_replies",
    "load_sampling",
    "load_sequence",
    "load_task",
    "load_text",
    "load_tools",
    "pack",
    "unpack",
]

TAGS = {"__tuple__", "__pairs__", "__bytes__", "__array__", "__repr__"}


def pack(array: np.ndarray) -> bytes:
    """A one-dimensional array as its dtype, a line break and its compressed bytes."""
    return array.dtype.str.encode() + b"\n" + zlib.compress(np.ascontiguousarray(array).tobytes(), 1)


def unpack(data: bytes) -> np.ndarray:
    """The array that `pack` was given, of the same dtype."""
    dtype, _, body = data.partition(b"\n")
    return np.frombuffer(zlib.decompress(body), np.dtype(dtype.decode())).copy()


def dump_json(value: Any) -> str:
    """Any value as tagged JSON."""
    return json.dumps(_tag(value))


def load_json(text: str) -> Any:
    """What `dump_json` was given."""
    return _untag(json.loads(text))


def dump_text(text: str) -> str | bytes:
    """Text for a column of its own: as it is, or as bytes where a lone surrogate keeps it from being UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def load_text(text: str | bytes) -> str:
    """What `dump_text` was given."""
    return text.decode(errors="surrogatepass") if isinstance(text, bytes) else text


def _tag(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return _tag(value.item())
    if isinstance(value, list):
        return [_tag(item) for item in value]
    if isinstance(value, tuple):
        return {"__tuple__": [_tag(item) for item in value]}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key not in TAGS for key in value):
            return {key: _tag(item) for key, item in value.items()}
        return {"__pairs__": [[_tag(key), _tag(item)] for key, item in value.items()]}
    if isinstance(value, bytes):
        return {"__bytes__": b64encode(value).decode()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"__array__": [value.dtype.str, value.tolist()]}
    return {"__repr__": repr(value)}


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    match next(iter(value.items()), None):
        case ("__tuple__", items):
            return tuple(_untag(item) for item in items)
        case ("__pairs__", pairs):
            return {_untag(key): _untag(item) for key, item in pairs}
        case ("__bytes__", text):
            return b64decode(text)
        case ("__array__", [dtype, items]):
            return np.array(items, np.dtype(dtype))
        case ("__repr__", text):
            return text
    return {key: _untag(item) for key, item in value.items()}


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": message.content,
        "calls": [_call(call) for call in message.calls],
        "call_id": message.call_id,
        "name": message.name,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": _tag(call.arguments), "id": call.id}


def _load_call(call: dict[str, Any]) -> ToolCall:
    return ToolCall(call["name"], _untag(call["arguments"]), call["id"])


def _load_message(message: dict[str, Any]) -> Message:
    return Message(**message | {"calls": tuple(_load_call(call) for call in message["calls"])})


def dump_messages(messages: tuple[Message, ...]) -> str:
    """A conversation as a JSON list."""
    return json.dumps([_message(message) for message in messages])


def load_messages(text: str) -> tuple[Message, ...]:
    """What `dump_messages` was given."""
    return tuple(_load_message(message) for message in json.loads(text))


def dump_task(task: Task) -> str:
    """A task as a JSON object."""
    return json.dumps(
        {
            "id": task.id,
            "messages": [_message(message) for message in task.messages],
            "answer": _tag(task.answer),
            "tools": task.tools,
            "metadata": _tag(task.metadata),
        }
    )


def load_task(text: str) -> Task:
    """What `dump_task` was given."""
    data = json.loads(text)
    return Task(
        id=data["id"],
        messages=tuple(_load_message(message) for message in data["messages"]),
        answer=_untag(data["answer"]),
        tools=None if data["tools"] is None else tuple(data["tools"]),
        metadata=_untag(data["metadata"]),
    )


def dump_tools(tools: tuple[ToolSchema, ...]) -> str:
    """Tool schemas as a JSON list."""
    return json.dumps([{"name": t.name, "description": t.description, "parameters": _tag(t.parameters)} for t in tools])


def load_tools(text: str) -> tuple[ToolSchema, ...]:
    """What `dump_tools` was given."""
    return tuple(ToolSchema(t["name"], t["description"], _untag(t["parameters"])) for t in json.loads(text))


def dump_parsed(parsed: ParsedTurn) -> str:
    """A parsed turn as a JSON object."""
    calls = [_call(call) for call in parsed.calls]
    return json.dumps({"text": parsed.text, "calls": calls, "errors": parsed.errors, "raw": parsed.raw})


def load_parsed(text: str) -> ParsedTurn:
    """What `dump_parsed` was given."""
    data = json.loads(text)
    return ParsedTurn(
        data["text"], tuple(_load_call(call) for call in data["calls"]), tuple(data["errors"]), data["raw"]
    )


def dump_replies(replies: tuple[ToolReply, ...]) -> str:
    """Tool replies as a JSON list."""
    return json.dumps([vars(reply) for reply in replies])


def load_replies(text: str) -> tuple[ToolReply, ...]:
    """What `dump_replies` was given."""
    return tuple(ToolReply(**reply) for reply in json.loads(text))


def dump_sampling(sampling: Sampling) -> str:
    """Sampling settings as a JSON object."""
    return json.dumps(vars(sampling))


def load_sampling(text: str) -> Sampling:
    """What `dump_sampling` was given."""
    return Sampling(**json.loads(text))


def dump_branch(branch: Branch | None) -> str | None:
    """A fork as a JSON list."""
    return None if branch is None else json.dumps(list(branch))


def load_branch(text: str | None) -> Branch | None:
    """What `dump_branch` was given."""
    return None if text is None else Branch(*json.loads(text))


def load_sequence(arrays: list[bytes], features: Mapping[str, bytes]) -> TokenSequence:
    """A sequence from its packed arrays, in the order ids, author, turn, logp, behaviour_logp, version."""
    ids, author, turn, logp, behaviour_logp, version = (unpack(data) for data in arrays)
    named = {name: unpack(data) for name, data in features.items()}
    return TokenSequence(ids, author, turn, logp, behaviour_logp, version, named)
