"""Chat format of tiny byte-level policies: a control id per role, a token per byte.

A conversation with one call; each <NAME> is a single control id, all other tokens are bytes:

    <SYSTEM>calculator(expression)<END><USER>12*34=?<END><ASSISTANT>     template and user
    <CALL>calculator 12*34<CALL_END><END>                                policy
    <TOOL>408<END><ASSISTANT>                                            template and tool
    408<END>                                                             policy

An image is the run of its image tokens, without marks around it: `Compact(model.image_processor)`.

A tool with one parameter takes the rest of the call as the parameter's value; any other tool takes a JSON object. Bytes
are below 256 and control ids are not, so no text can contribute a control id.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from handaxe.core.images import PLACEHOLDER, Image, is_image_id, token_number
from handaxe.core.model_api import ImageProcessor
from handaxe.core.records import Author, Message, ParsedTurn, ToolCall, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.image_parts import image_parts, refuse_images
from handaxe.models.chat_formats.tool_call_parsing import read_json

__all__ = ["ASSISTANT", "CALL", "CALL_END", "Compact", "END", "PAD", "SYSTEM", "TOOL", "USER", "VOCAB_SIZE"]

PAD, SYSTEM, USER, ASSISTANT, TOOL, END, CALL, CALL_END = range(256, 264)
VOCAB_SIZE = 264
NAMES = {PAD: "PAD", SYSTEM: "SYSTEM", USER: "USER", ASSISTANT: "ASSISTANT", TOOL: "TOOL", END: "END"}
NAMES |= {CALL: "CALL", CALL_END: "CALL_END"}
ROLES = {"system": SYSTEM, "user": USER, "tool": TOOL}


class Compact:
    """Implements `core.protocols.ChatFormat`; see the module.

    Args:
        image_processor: of the model; None for a model without vision.

    Attributes:
        bytes_of: bytes of each id that stands for text.
    """

    stop_ids = frozenset({END})
    header_ids = frozenset({PAD, SYSTEM, USER, ASSISTANT, TOOL})
    bytes_of: Mapping[int, bytes] = {byte: bytes([byte]) for byte in range(256)}
    image_processor: ImageProcessor | None = None

    def __init__(self, image_processor: ImageProcessor | None = None):
        self.image_processor = image_processor

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text: its bytes in UTF-8."""
        return list(text.encode())

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """Tool signatures, messages, and the control id that starts the policy's turn."""
        out = Rendered([], [])
        if tools:
            _write(out, [SYSTEM, *self.encode(" ".join(map(_signature, tools))), END], Author.TEMPLATE)
        for message in messages:
            self._message(out, message, tools)
        _write(out, [ASSISTANT], Author.TEMPLATE)
        return out

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """Return END if the policy did not sample it, the new messages, and the control id of the next turn."""
        del history
        out = Rendered([], [])
        if last_ids[-1] != END:
            _write(out, [END], Author.TEMPLATE)
        for message in new:
            self._message(out, message, tools)
        _write(out, [ASSISTANT], Author.TEMPLATE)
        return out

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """Parse the text outside <CALL>..<CALL_END> and the calls between them."""
        text, call = bytearray(), None
        calls: list[ToolCall] = []
        errors: list[str] = []
        spans: list[tuple[int, int]] = []
        call_start = 0
        for position, token in enumerate(ids):
            if token == CALL and call is None:
                call, call_start = bytearray(), position
            elif token == CALL_END and call is not None:
                parsed = _parse_call(call.decode(errors="replace"), tools, f"c{len(calls)}")
                if isinstance(parsed, ToolCall):
                    calls.append(parsed)
                    spans.append((call_start, position + 1))
                else:
                    errors.append(parsed)
                call = None
            elif token in (CALL, CALL_END):
                errors.append("a call begins inside a call" if token == CALL else "a call ends that never began")
            elif (part := self.bytes_of.get(token)) is not None:
                (text if call is None else call).extend(part)
        if call is not None:
            errors.append("the call is not closed")
        return ParsedTurn(text.decode(errors="replace"), tuple(calls), tuple(errors), self.decode(ids), tuple(spans))

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """Return the ids that a policy samples for a message, END included.

        Raises:
            InputError: the message has images.
        """
        refuse_images(message)
        ids = self.encode(message.content)
        for call in message.calls:
            ids += [CALL, *self.encode(f"{call.name} {_argument_text(call, tools)}"), CALL_END]
        return [*ids, END]

    def decode(self, ids: Iterable[int]) -> str:
        """Decode bytes as UTF-8, control ids as <NAME>, and each image as one PLACEHOLDER."""
        out, run = [], bytearray()
        for token in ids:
            if (part := self.bytes_of.get(token)) is not None:
                run += part
                continue
            out += [run.decode(errors="replace"), _spell(token)]
            run = bytearray()
        return "".join([*out, run.decode(errors="replace")])

    def _message(self, out: Rendered, message: Message, tools: Sequence[ToolSchema]) -> None:
        if message.role == "assistant":
            _write(out, [ASSISTANT, *self.encode_turn(message, tools)], Author.TEMPLATE)
            return
        _write(out, [ROLES[message.role]], Author.TEMPLATE)
        author = Author.TOOL if message.role == "tool" else Author.USER
        for part in image_parts(message, self.image_processor):
            if isinstance(part, Image):
                assert self.image_processor is not None
                _write(out, self.image_processor.token_ids(part), author)
            else:
                _write(out, self.encode(part.encode(errors="replace").decode()), author)
        _write(out, [END], Author.TEMPLATE)


def _write(out: Rendered, ids: Iterable[int], author: Author) -> None:
    before = len(out.ids)
    out.ids.extend(ids)
    out.authors.extend([int(author)] * (len(out.ids) - before))


def _spell(token: int) -> str:
    if is_image_id(token):
        return "" if token_number(token) else PLACEHOLDER
    return f"<{NAMES.get(token, token)}>"


def _signature(tool: ToolSchema) -> str:
    return f"{tool.name}({','.join(tool.parameters.get('properties', {}))})"


def _only_parameter(name: str, tools: Sequence[ToolSchema]) -> tuple[str, bool] | None:
    """The parameter of a tool with a single one, and True if it is a string; None for other and unknown tools."""
    for tool in tools:
        properties = tool.parameters.get("properties", {})
        if tool.name == name and len(properties) == 1:
            parameter, schema = next(iter(properties.items()))
            return parameter, schema.get("type") == "string"
    return None


def _argument_text(call: ToolCall, tools: Sequence[ToolSchema]) -> str:
    only = _only_parameter(call.name, tools)
    if only and set(call.arguments) == {only[0]}:
        value = call.arguments[only[0]]
        return value if only[1] and isinstance(value, str) else json.dumps(value)
    return json.dumps(dict(call.arguments), separators=(",", ":"))


def _parse_call(text: str, tools: Sequence[ToolSchema], call_id: str) -> ToolCall | str:
    """Parse the text of a call; returns an error message for a malformed call."""
    name, _, rest = text.partition(" ")
    only = _only_parameter(name, tools)
    if only and only[1]:
        return ToolCall(name, {only[0]: rest}, call_id)
    if only:
        return ToolCall(name, {only[0]: _json_or_text(rest)}, call_id)
    try:
        arguments = read_json(rest or "{}")
    except ValueError as error:
        return f"the arguments of {name!r} are not JSON: {error}"
    if not isinstance(arguments, dict):
        return f"the arguments of {name!r} are not a JSON object"
    return ToolCall(name, arguments, call_id)


def _json_or_text(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text
