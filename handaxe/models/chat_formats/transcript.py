"""Chat format of chat completions servers, which exchange messages instead of tokens.

Ids are the UTF-8 bytes of one JSON value a message, and three control ids, shown here as <NAME>:

    {"tools": [{"name": "calculator", ...}]}<END>                                      template
    {"role": "user", "content": "12*34=?"}<END><TURN>                                  user and template
    {"content": "", "calls": [{"id": "c0", "name": "calculator", "arguments": "..."}]}<END>     policy
    {"role": "tool", "content": "408", "call_id": "t0c0"}<END><TURN>                   tool and template
    {"content": "408", "calls": []}<END>                                               policy

An image is one id between the bytes of its message, in place of its placeholder.

`arguments` is the server's text, malformed or not. Bytes are below 256 and control ids are not, so no text can
contribute a control id. Token counts of this format are byte counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image, image_key, index_images, is_image_id, split_images
from handaxe.core.model_api import ImageProcessor
from handaxe.core.records import Author, Message, ParsedTurn, ToolCall, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.image_parts import refuse_images
from handaxe.models.chat_formats.tool_call_parsing import read_json

__all__ = ["Transcript", "TranscriptImages"]

PAD, TURN, END = range(256, 259)
NAMES = {PAD: "PAD", TURN: "TURN", END: "END"}
MARK = PLACEHOLDER.encode()
AUTHORS = {"user": Author.USER, "system": Author.USER, "tool": Author.TOOL}


class TranscriptImages:
    """Implements `core.model_api.ImageProcessor`: one id an image, since servers get messages and no ids."""

    def token_ids(self, image: Image) -> list[int]:
        """The one id of an image."""
        return image.ids(1)

    def expand(self, ids: Sequence[int], images: Mapping[int, Image]) -> list[int]:
        """Return the ids: this format has no vocabulary for images."""
        del images
        return list(ids)

    def collapse(self, ids: Sequence[int]) -> list[int]:
        """Return the ids: every image has one."""
        return list(ids)

    def describe(self) -> dict[str, Any]:
        """Kind."""
        return {"kind": "transcript"}


class Transcript:
    """Implements `core.protocols.ChatFormat`, `core.protocols.ImageChatFormat` and
    `engines.openai.engine.ConversationFormat`; see the module.

    Args:
        tool_images: "user" sends the images of tool results in a user message after the results, since many servers
            take text only as a tool result; "tool" sends them in the result. The record is the same.
    """

    image_processor: ImageProcessor | None = TranscriptImages()
    stop_ids = frozenset({END})
    header_ids = frozenset({PAD, TURN})
    vocab_size = 259

    def __init__(self, *, tool_images: Literal["user", "tool"] = "user"):
        self.tool_images = tool_images

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """Tools, messages, and the control id that starts the policy's turn."""
        out = Rendered([], [])
        if tools:
            schemas = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
            _write(out, [*_to_json({"tools": schemas}), END], Author.TEMPLATE)
        return self._messages(out, messages)

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """Return END if the turn lacks it, the new messages, and the control id of the next turn."""
        del history, tools
        out = Rendered([], [])
        if not last_ids or last_ids[-1] != END:
            _write(out, [END], Author.TEMPLATE)
        return self._messages(out, new)

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """Parse the text and the calls; a call without a JSON object as arguments becomes an error."""
        del tools
        turn = _parse_turn(ids)
        raw = self.decode(ids)
        if turn is None:
            text = bytes(i for i in ids if i < 256).decode(errors="replace")
            return ParsedTurn(text, (), ("the turn is not a line of JSON",), raw)
        calls, errors = list[ToolCall](), list[str]()
        for call in turn["calls"]:
            arguments = _parse_arguments(call)
            if isinstance(arguments, str):
                errors.append(arguments)
            else:
                calls.append(ToolCall(call["name"], arguments, call["id"]))
        return ParsedTurn(turn["content"], tuple(calls), tuple(errors), raw)

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """Ids of an assistant message, END included."""
        del tools
        calls = [(call.id, call.name, json.dumps(dict(call.arguments), ensure_ascii=False)) for call in message.calls]
        refuse_images(message)
        return self._turn(message.content, calls)

    def decode(self, ids: Iterable[int]) -> str:
        """Decode bytes as UTF-8, control ids as <NAME>, images as PLACEHOLDER."""
        out, run = [], bytearray()
        for token in ids:
            if token < 256:
                run.append(token)
                continue
            shown = PLACEHOLDER if is_image_id(token) else f"<{NAMES.get(token, token)}>"
            out += [run.decode(errors="replace"), shown]
            run = bytearray()
        return "".join([*out, run.decode(errors="replace")])

    def reply(self, content: str, calls: Sequence[tuple[str, str]], *, ended: bool) -> list[int]:
        """Ids of a server's reply.

        Args:
            content: text of the reply.
            calls: name and arguments of each call, as received.
            ended: False for a truncated reply, which gets no END.
        """
        ids = self._turn(content, [(f"c{k}", name, arguments) for k, (name, arguments) in enumerate(calls)])
        return ids if ended else ids[:-1]

    def request(self, ids: Sequence[int], images: Sequence[Image] = ()) -> dict[str, Any]:
        """Request body of the chat completions protocol: "messages" and, if there are any, "tools".

        Servers require a result for every call. Tool messages are assigned by call id; messages without one (about
        malformed calls) are assigned to open calls in order; a call without result gets a placeholder result. Images
        are sent as data: URLs.

        Args:
            ids: rendered by this class.
            images: those of the image ids, and possibly others.

        Raises:
            InputError: the ids are no transcript, do not end at the start of a policy turn, or name an image that is
                not among `images`.
        """
        if not ids or ids[-1] != TURN:
            raise InputError("the ids do not end in TURN: only ids rendered by Transcript can be continued")
        tools, chat = list[dict[str, Any]](), _Chat(self.tool_images)
        known = index_images(images)
        for is_turn, line in _split_lines(ids[:-1]):
            line, shown = _take_images(line, known)
            value = _parse_turn(line) if is_turn else _from_json(line)
            if is_turn and value is not None:
                chat.add_turn(value)
            elif isinstance(value, dict) and "tools" in value:
                tools += [{"type": "function", "function": tool} for tool in value["tools"]]
            elif isinstance(value, dict) and value.get("role") == "tool":
                chat.add_result(value, shown)
            elif isinstance(value, dict) and "role" in value:
                chat.add_message(value["role"], _content(value["content"], shown))
            else:
                raise InputError(f"the ids are no transcript: {self.decode(line)[:200]!r}")
        return {"messages": chat.finish(), **({"tools": tools} if tools else {})}

    def _turn(self, content: str, calls: Sequence[tuple[str, str, str]]) -> list[int]:
        items = [{"id": i or f"c{k}", "name": name, "arguments": text} for k, (i, name, text) in enumerate(calls)]
        return [*_to_json({"content": content, "calls": items}), END]

    def _messages(self, out: Rendered, messages: Sequence[Message]) -> Rendered:
        for message in messages:
            if message.role == "assistant":
                _write(out, [TURN, *self.encode_turn(message, ())], Author.TEMPLATE)
                continue
            fields = {"role": message.role, "content": message.content}
            if message.call_id:
                fields["call_id"] = message.call_id
            _write(out, _place_images(_to_json(fields), message), AUTHORS[message.role])
            _write(out, [END], Author.TEMPLATE)
        _write(out, [TURN], Author.TEMPLATE)
        return out


class _Chat:
    """Messages of the protocol, and calls without a result so far."""

    def __init__(self, tool_images: str) -> None:
        self.tool_images = tool_images
        self.waiting: list[Image] = []  # of tool results, until the last result of a turn
        self.messages: list[dict[str, Any]] = []
        self.open_calls: dict[str, str] = {}
        self.turns = 0

    def add_message(self, role: str, content: str | list[dict[str, Any]]) -> None:
        """Add a system or user message."""
        self._close_calls()
        self.messages.append({"role": role, "content": content})

    def add_turn(self, turn: dict[str, Any]) -> None:
        """Add a turn of the policy."""
        self._close_calls()
        message: dict[str, Any] = {"role": "assistant", "content": turn["content"]}
        calls = []
        for number, call in enumerate(turn["calls"]):
            call_id = f"call_{self.turns}_{number}"
            self.open_calls[call["id"]] = call_id
            # A server may refuse malformed arguments, even if it sampled them.
            arguments = call["arguments"] if isinstance(_parse_arguments(call), dict) else "{}"
            calls.append(
                {"id": call_id, "type": "function", "function": {"name": call["name"], "arguments": arguments}}
            )
        self.turns += 1
        self.messages.append({**message, "tool_calls": calls} if calls else message)

    def add_result(self, result: dict[str, Any], images: Sequence[Image]) -> None:
        """Add the result of a tool, or a message of the environment about a malformed call."""
        shown = self.tool_images == "tool"
        key = result.get("call_id", "")
        key = key if key in self.open_calls else re.sub(r"^t\d+", "", key)
        if key not in self.open_calls:
            key = next(iter(self.open_calls), "")
        if not key:
            self.add_message("user", _content(result["content"], images))
            return
        content = _content(result["content"], images) if shown else _text_only(result["content"], images)
        self.messages.append({"role": "tool", "tool_call_id": self.open_calls.pop(key), "content": content})
        self.waiting += () if shown else images

    def finish(self) -> list[dict[str, Any]]:
        """Close open calls and return all messages."""
        self._close_calls()
        return self.messages

    def _close_calls(self) -> None:
        for call_id in self.open_calls.values():
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": "there was no reply"})
        self.open_calls.clear()
        if self.waiting:
            parts = [{"type": "text", "text": "Images of the tool results, in order:"}, *map(_image_part, self.waiting)]
            self.messages.append({"role": "user", "content": parts})
            self.waiting = []


def _write(out: Rendered, ids: Iterable[int], author: Author) -> None:
    before = len(out.ids)
    out.ids.extend(ids)
    out.authors.extend([int(author)] * (len(out.ids) - before))


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _split_lines(ids: Sequence[int]) -> list[tuple[bool, list[int]]]:
    """The lines between control ids, each with True for a turn of the policy."""
    lines = []
    line = list[int]()
    is_turn = False
    for token in [*ids, END]:
        if token < 256 or is_image_id(token):
            line.append(token)
            continue
        if line:
            lines.append((is_turn, line))
            line = []
        is_turn = token == TURN
    return lines


def _place_images(line: bytes, message: Message) -> list[int]:
    """Ids of a message's JSON, with an image id in place of each placeholder."""
    if not message.images:
        return list(line)
    split_images(message.content, message.images)
    parts = line.split(MARK)
    ids = list(parts[0])
    for image, part in zip(message.images, parts[1:], strict=True):
        ids += [*image.ids(1), *part]
    return ids


def _take_images(line: Sequence[int], known: Mapping[int, Image]) -> tuple[list[int], list[Image]]:
    """The bytes of a line, with placeholders, and its images."""
    found, out = list[Image](), list[int]()
    for token in line:
        if not is_image_id(token):
            out.append(token)
            continue
        if image_key(token) not in known:
            raise InputError(f"the ids name an image of key {image_key(token)} that is not among the request's images")
        found.append(known[image_key(token)])
        out += MARK
    return out, found


def _content(text: str, images: Sequence[Image]) -> str | list[dict[str, Any]]:
    """Content of the protocol: text, or parts if there are images."""
    if not images:
        return text
    pieces = split_images(text, images)
    return [_image_part(one) if isinstance(one, Image) else {"type": "text", "text": one} for one in pieces]


def _text_only(text: str, images: Sequence[Image]) -> str:
    """Text with the size of each image in its place."""
    pieces = split_images(text, images) if images else [text]
    return "".join(f"[image {one.width}x{one.height}]" if isinstance(one, Image) else one for one in pieces)


def _image_part(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image.data_url}}


def _from_json(ids: Sequence[int]) -> Any:
    """The JSON value of a line; None if it is not JSON."""
    try:
        return json.loads(bytes(ids).decode())
    except (ValueError, RecursionError):
        return None


def _parse_turn(ids: Sequence[int]) -> dict[str, Any] | None:
    """A turn of the policy with unique call ids; None if the ids are no turn."""
    turn = _from_json([i for i in ids if i < 256])
    if not isinstance(turn, dict) or not isinstance(turn.get("content"), str):
        return None
    calls = turn.get("calls")
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        return None
    call_ids = [call["id"] for call in calls]
    if len(set(call_ids)) < len(call_ids):
        calls = [{**call, "id": f"c{k}"} for k, call in enumerate(calls)]
    return {"content": turn["content"], "calls": calls}


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and all(isinstance(call.get(key), str) for key in ("id", "name", "arguments"))


def _parse_arguments(call: dict[str, Any]) -> dict[str, Any] | str:
    """The arguments of a call, or an error message."""
    try:
        arguments = read_json(call["arguments"] or "{}")
    except ValueError as error:
        return f"the arguments of {call['name'][:80]!r} are not JSON: {error}"
    if not isinstance(arguments, dict):
        return f"the arguments of {call['name'][:80]!r} are not a JSON object"
    return arguments
