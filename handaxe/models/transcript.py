"""The chat format of models that live behind a server which takes messages and gives messages, never tokens.

An id is a byte of UTF-8, one JSON value a line, or one of three control ids, shown here as <NAME>:

    {"tools": [{"name": "calculator", ...}]}<END>                                      template
    {"role": "user", "content": "12*34=?"}<END><TURN>                                  user and template
    {"content": "", "calls": [{"id": "c0", "name": "calculator", "arguments": "..."}]}<END>     policy
    {"role": "tool", "content": "408", "call_id": "t0c0"}<END><TURN>                   tool and template
    {"content": "408", "calls": []}<END>                                               policy

`arguments` is the text that the server gave, malformed or not. Bytes are below 256 and control ids are not, so no text
can ever contribute a control id. Numbers of ids are bytes here, which matters to whatever counts tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, ParsedTurn, ToolCall, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.calls import read_json

__all__ = ["Transcript"]

PAD, TURN, END = range(256, 259)
NAMES = {PAD: "PAD", TURN: "TURN", END: "END"}
AUTHORS = {"user": Author.USER, "system": Author.USER, "tool": Author.TOOL}


class Transcript:
    """Implements `slots.ChatFormat` and what `engines.openai.engine` needs besides; see the module."""

    stop_ids = frozenset({END})
    header_ids = frozenset({PAD, TURN})
    vocab_size = 259

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """The tools, the messages, and the id that begins the policy's turn."""
        out = Rendered([], [])
        if tools:
            told = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
            _write(out, [*_line({"tools": told}), END], Author.TEMPLATE)
        return self._messages(out, messages)

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """END where the turn has none, the new messages, and the id that begins the next turn."""
        del history, tools
        out = Rendered([], [])
        if not last_ids or last_ids[-1] != END:
            _write(out, [END], Author.TEMPLATE)
        return self._messages(out, new)

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """The text, every call whose arguments are a JSON object, and an error for every other."""
        del tools
        said = _read(ids)
        raw = self.decode(ids)
        if said is None:
            text = bytes(i for i in ids if i < 256).decode(errors="replace")
            return ParsedTurn(text, (), ("the turn is not a line of JSON",), raw)
        calls, errors = list[ToolCall](), list[str]()
        for call in said["calls"]:
            arguments = _arguments(call)
            if isinstance(arguments, str):
                errors.append(arguments)
            else:
                calls.append(ToolCall(call["name"], arguments, call["id"]))
        return ParsedTurn(said["content"], tuple(calls), tuple(errors), raw)

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """The ids of an assistant message."""
        del tools
        calls = [(call.id, call.name, json.dumps(dict(call.arguments), ensure_ascii=False)) for call in message.calls]
        return self._turn(message.content, calls)

    def decode(self, ids: Iterable[int]) -> str:
        """Bytes as UTF-8, control ids as <NAME>."""
        out, run = [], bytearray()
        for token in ids:
            if token < 256:
                run.append(token)
                continue
            out += [run.decode(errors="replace"), f"<{NAMES.get(token, token)}>"]
            run = bytearray()
        return "".join([*out, run.decode(errors="replace")])

    def reply(self, content: str, calls: Sequence[tuple[str, str]], *, ended: bool) -> list[int]:
        """The ids of what a server said.

        Args:
            content: its text.
            calls: name and arguments of each call, as the server gave them.
            ended: it ended its turn; otherwise it was cut, and there is no END.
        """
        ids = self._turn(content, [(f"c{k}", name, arguments) for k, (name, arguments) in enumerate(calls)])
        return ids if ended else ids[:-1]

    def request(self, ids: Sequence[int]) -> dict[str, Any]:
        """What to send: "messages" and, if there are any, "tools", in the words of the chat completions protocol.

        Every call gets an answer, as servers demand: tool messages go by their call's id, and those without one (about
        malformed calls) to the calls still open, in order; a call that was not answered gets one that says so.

        Raises:
            InputError: the ids are no transcript, or do not end where a turn of the policy begins.
        """
        if not ids or ids[-1] != TURN:
            raise InputError("the ids do not end in TURN: only what Transcript rendered can be continued")
        tools, chat = list[dict[str, Any]](), _Chat()
        for begins, line in _lines(ids[:-1]):
            said = _read(line) if begins else _value(line)
            if begins and said is not None:
                chat.assistant(said)
            elif isinstance(said, dict) and "tools" in said:
                tools += [{"type": "function", "function": tool} for tool in said["tools"]]
            elif isinstance(said, dict) and said.get("role") == "tool":
                chat.tool(said)
            elif isinstance(said, dict) and "role" in said:
                chat.plain(said["role"], said["content"])
            else:
                raise InputError(f"the ids are no transcript: {self.decode(line)[:200]!r}")
        return {"messages": chat.finished(), **({"tools": tools} if tools else {})}

    def _turn(self, content: str, calls: Sequence[tuple[str, str, str]]) -> list[int]:
        made = [{"id": i or f"c{k}", "name": name, "arguments": given} for k, (i, name, given) in enumerate(calls)]
        return [*_line({"content": content, "calls": made}), END]

    def _messages(self, out: Rendered, messages: Sequence[Message]) -> Rendered:
        for message in messages:
            if message.role == "assistant":
                _write(out, [TURN, *self.encode_turn(message, ())], Author.TEMPLATE)
                continue
            said = {"role": message.role, "content": message.content}
            if message.call_id:
                said["call_id"] = message.call_id
            _write(out, _line(said), AUTHORS[message.role])
            _write(out, [END], Author.TEMPLATE)
        _write(out, [TURN], Author.TEMPLATE)
        return out


class _Chat:
    """Messages in the words of the protocol, and the calls that have no answer yet."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.open: dict[str, str] = {}
        self.turns = 0

    def plain(self, role: str, content: str) -> None:
        """A message of the system or the user."""
        self._close()
        self.messages.append({"role": role, "content": content})

    def assistant(self, said: dict[str, Any]) -> None:
        """A turn of the policy."""
        self._close()
        message: dict[str, Any] = {"role": "assistant", "content": said["content"]}
        calls = []
        for number, call in enumerate(said["calls"]):
            wire = f"call_{self.turns}_{number}"
            self.open[call["id"]] = wire
            # A server may refuse its own malformed arguments when it reads them back.
            given = call["arguments"] if isinstance(_arguments(call), dict) else "{}"
            calls.append({"id": wire, "type": "function", "function": {"name": call["name"], "arguments": given}})
        self.turns += 1
        self.messages.append({**message, "tool_calls": calls} if calls else message)

    def tool(self, said: dict[str, Any]) -> None:
        """What a tool, or the environment in its place, replied."""
        key = said.get("call_id", "")
        key = key if key in self.open else re.sub(r"^t\d+", "", key)
        if key not in self.open:
            key = next(iter(self.open), "")
        if not key:
            self.plain("user", said["content"])
            return
        self.messages.append({"role": "tool", "tool_call_id": self.open.pop(key), "content": said["content"]})

    def finished(self) -> list[dict[str, Any]]:
        """All of them."""
        self._close()
        return self.messages

    def _close(self) -> None:
        for wire in self.open.values():
            self.messages.append({"role": "tool", "tool_call_id": wire, "content": "there was no reply"})
        self.open.clear()


def _write(out: Rendered, ids: Iterable[int], author: Author) -> None:
    before = len(out.ids)
    out.ids.extend(ids)
    out.authors.extend([int(author)] * (len(out.ids) - before))


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _lines(ids: Sequence[int]) -> list[tuple[bool, list[int]]]:
    """The values between control ids, and whether each is a turn of the policy."""
    lines = []
    line = list[int]()
    begins = False
    for token in [*ids, END]:
        if token < 256:
            line.append(token)
            continue
        if line:
            lines.append((begins, line))
            line = []
        begins = token == TURN
    return lines


def _value(ids: Sequence[int]) -> Any:
    """The JSON value of a line, or None."""
    try:
        return json.loads(bytes(ids).decode())
    except (ValueError, RecursionError):
        return None


def _read(ids: Sequence[int]) -> dict[str, Any] | None:
    """A turn of the policy, its calls with ids that differ; None if the ids hold no such turn."""
    said = _value([i for i in ids if i < 256])
    if not isinstance(said, dict) or not isinstance(said.get("content"), str):
        return None
    calls = said.get("calls")
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        return None
    names = [call["id"] for call in calls]
    if len(set(names)) < len(names):
        calls = [{**call, "id": f"c{k}"} for k, call in enumerate(calls)]
    return {"content": said["content"], "calls": calls}


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and all(isinstance(call.get(key), str) for key in ("id", "name", "arguments"))


def _arguments(call: dict[str, Any]) -> dict[str, Any] | str:
    """The arguments of a call, or what is wrong with them."""
    try:
        arguments = read_json(call["arguments"] or "{}")
    except ValueError as error:
        return f"the arguments of {call['name'][:80]!r} are not JSON: {error}"
    if not isinstance(arguments, dict):
        return f"the arguments of {call['name'][:80]!r} are not a JSON object"
    return arguments
