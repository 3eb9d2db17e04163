"""Probes of a chat template: the forms of messages that it accepts, and the tokens that end a turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image, split_images
from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.glm_calls import GlmCalls
from handaxe.models.chat_formats.harmony_calls import HarmonyCalls
from handaxe.models.chat_formats.json_calls import BareCalls, ListedCalls
from handaxe.models.chat_formats.model_calls import ModelCalls
from handaxe.models.chat_formats.placeholders import Placeholders
from handaxe.models.chat_formats.safe_encoder import THINKING
from handaxe.models.chat_formats.section_calls import DEEPSEEK, DEEPSEEK_V3_1, KIMI
from handaxe.models.chat_formats.template_rendering import Style, TemplateRendering, Thought
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, TaggedCalls

__all__ = ["NO_BREAK", "PROBE_USER", "Probe", "SYNTAXES", "TurnEnds"]

LOGGER = logging.getLogger(__name__)
SYNTAXES: dict[str, ModelCalls] = {
    "llama": BareCalls(),
    "llama4": BareCalls(start="<|python_start|>", end="<|python_end|>"),
    "harmony": HarmonyCalls(),
    "deepseek": DEEPSEEK,
    "deepseek_v3_1": DEEPSEEK_V3_1,
    "glm": GlmCalls(),
    "kimi": KIMI,
    "mistral": ListedCalls(),
    "mistral_v3": ListedCalls(space=" "),
}
"""Call syntaxes of model families, which a format selects by the template's rendering of a call."""
PROBE_TOOL = ToolSchema("probe_tool", "Probe.", {"type": "object", "properties": {"probe_word": {"type": "string"}}})
PROBE_CALL = ToolCall("probe_tool", {"probe_word": "probe value"}, "c0")
SECOND_CALL = ToolCall("probe_tool", {"probe_word": "second value"}, "c1")
PROBE_USER = Message("user", "probe question")
ANSWER = Message("assistant", "probe answer")
CALLED = Message("assistant", "", (PROBE_CALL,))
NO_BREAK = "</think>\n\n"
THINKING_CALL = Message("assistant", f"<think>\nprobe thought\n{NO_BREAK}", (PROBE_CALL,))
REPLY = Message("tool", "probe reply", call_id="c0", name=PROBE_TOOL.name)


class TurnEnds(NamedTuple):
    """Names of the control tokens that end an assistant turn.

    last     of a sampled answer
    answer   of an answer within a conversation
    call     of a turn with calls
    """

    last: str
    answer: str
    call: str


class Probe:
    """Renders small conversations to find the style of a template.

    Attributes:
        style: forms of messages.
        ends: tokens that end turns.
        turn_tokens: names of control tokens inside turns.
        parallel: a turn may have several calls.
        lead: white space that the template writes before an answer.
        thought_break: the template writes a line break between a thought and a call.

    Args:
        rendering: of the template.
        calls: syntax of calls; None: the syntax that parses the template's rendering of a call.

    Raises:
        InputError: the template does not end assistant turns with a control token.
    """

    def __init__(self, rendering: TemplateRendering, calls: CallSyntax | None):
        self._rendering = rendering
        self._names = rendering.encoder.names
        default = calls or TaggedCalls()
        self._plain = Style(default, lists=self._wants_lists(default))
        self.style = self._plain._replace(native=True)
        last, answer = self._find_ends()
        self.ends, self.parallel = TurnEnds(last, answer, last), True
        found = self._find_syntax([calls] if calls else [default, *SYNTAXES.values()])
        if found is None:
            self._warn(default)
            self.style = self._plain
            self.style = self.style._replace(tools_message="system" if self._keeps_system() else "user")
        else:
            self.style, self.ends, _ = found
            self.parallel = self._has_parallel_calls()
        if isinstance(self.style.calls, ModelCalls):
            self.style = self.style._replace(thought=self._thought_field(), orphans=self._orphans())
            self.style = self.style._replace(system="system" if self._keeps_system() else "user")
        turn = found[2] if found else ""
        self._find_images()
        self.lead, self.thought_break = self._find_lead(), self._breaks_after_thought()
        inside = turn + self._answer_turn() if self.style.native else self.style.calls.example
        self.turn_tokens = {found.name for found in self._names.find(inside)} | _tokens(self.style.calls)

    def _render(self, chat: Sequence[Message], *, header: bool = True, tools: bool = True) -> tuple[Placeholders, str]:
        placeholders, (text,) = self._renderings([chat], header=header, tools=tools)
        return placeholders, text

    def _renderings(
        self, chats: Sequence[Sequence[Message]], *, header: bool = True, tools: bool = True
    ) -> tuple[Placeholders, list[str]]:
        """Render conversations that begin alike, with the same placeholders; `header` is of the last one."""
        offered = [PROBE_TOOL] if tools else []
        placeholders = Placeholders(self._rendering.encoder, chats[-1], offered)
        headers = [True] * (len(chats) - 1) + [header]
        return placeholders, [
            self._rendering.render(placeholders, chat, offered, self.style, header=one)
            for chat, one in zip(chats, headers)
        ]

    # --- images ------------------------------------------------------------------------------------------------------

    def _wants_lists(self, calls: CallSyntax) -> bool:
        """True if the template drops the text of a message unless the content is a list of parts."""
        if self._rendering.encoder.image_processor is None:
            return False
        for lists in (False, True):
            self.style = Style(calls, lists=lists)
            try:
                placeholders, text = self._render([PROBE_USER], tools=False)
            except InputError:
                continue
            if placeholders.contains(PROBE_USER.content, placeholders.numbers(text)):
                return lists
        return False

    def _find_images(self) -> None:
        """Find out whether tool messages show images. Raises InputError if messages of users show none."""
        if self._rendering.encoder.image_processor is None:
            return
        image = Image.of(np.zeros((8, 8, 3), np.uint8))
        if not self._shows([Message.of("user", "probe question", image)]):
            raise InputError(
                f"the chat template writes no {self._rendering.encoder.placeholder} for an image of a user's message: "
                "set tokenizer.chat_template to the template of the model's processor"
            )
        if self.style.native:
            reply = Message.of("tool", "probe reply", image, call_id="c0", name=PROBE_TOOL.name)
            style, self.style = self.style, self.style._replace(tool_images=True)
            if not self._shows([PROBE_USER, CALLED, reply]):
                self.style = style

    def _shows(self, chat: Sequence[Message]) -> bool:
        """True if the template writes a placeholder for each image, and all texts."""
        try:
            placeholders, text = self._render(chat, tools=self.style.native)
        except InputError:
            return False
        numbers = placeholders.numbers(text)
        texts = [part for one in chat for part in split_images(one.content, one.images) if isinstance(part, str)]
        return not placeholders.missing_images(text) and all(placeholders.contains(one, numbers) for one in texts)

    # --- ends --------------------------------------------------------------------------------------------------------

    def _find_ends(self) -> tuple[str, str]:
        """The control token after the answer of a whole conversation, and after an answer before a question."""
        last, answer = self._after_answer([]), self._after_answer([PROBE_USER])
        if not last and not answer:
            raise InputError("the chat template does not end an assistant's turn with a control token of the tokenizer")
        return last or answer, answer or last

    def _after_answer(self, new: Sequence[Message]) -> str:
        style = self.style
        chat = [PROBE_USER, ANSWER, *new]
        try:
            plain = TaggedCalls() if isinstance(style.calls, ModelCalls) else style.calls
            self.style = self._plain._replace(
                calls=plain
            )  # without the frame of a family's turns, which the template writes
            placeholders, text = self._render(chat, header=False, tools=False)
        except InputError:
            if not new:
                raise
            return ""
        finally:
            self.style = style
        rest = placeholders.text_after(text, ANSWER.content)
        end = self._names.first(rest)
        return "" if end is None or rest[: end.start].strip() else end.name

    def _end_of_call(self, text: str, start: int) -> int:
        """Position of the end of a turn with calls, which begins at `start`; -1 without end."""
        calls = self.style.calls
        if not isinstance(calls, ModelCalls):
            return text.find(self.ends.last, start)
        inside = {found.name for found in self._names.find(_written(calls))} | _tokens(calls) | set(THINKING)
        ends = (found.start for found in self._names.find(text[start:]) if found.name not in inside)
        return start + next(ends, -1 - start)

    # --- tools -------------------------------------------------------------------------------------------------------

    def _find_syntax(self, candidates: Sequence[CallSyntax]) -> tuple[Style, TurnEnds, str] | None:
        """The first syntax that writes a call as the template does, else the first that parses the rendered call."""
        found = [one for one in map(self._tried, candidates) if one is not None]
        exact = (one for one in found if _written(one[0].calls) == one[2])
        return next(exact, found[0] if found else None)

    def _tried(self, calls: CallSyntax) -> tuple[Style, TurnEnds, str] | None:
        """Style, ends and rendered call of a syntax; None if the template does not render its calls."""
        forms: tuple[Literal["object", "text"], ...] = ("object", "text")
        for arguments in forms:
            self.style = self._plain._replace(calls=calls, native=True, arguments=arguments)
            turn = self._called_turn([PROBE_USER], CALLED, [REPLY])
            if turn is None or not _same(calls, turn, [PROBE_CALL]):
                continue
            if PROBE_TOOL.name not in self._render([PROBE_USER])[1]:
                if not isinstance(calls, ModelCalls):
                    continue
                self.style = self.style._replace(described=True)
            if isinstance(calls, ModelCalls) and not self._calls_twice():
                continue
            _, (opening, text) = self._renderings([[PROBE_USER], [PROBE_USER, CALLED, REPLY]])
            end = self._end_of_call(text, len(opening))
            name = self._names.first(text[end:])
            return self.style, self.ends._replace(call=name.name if name else self.ends.last), turn
        return None

    def _called_turn(self, before: Sequence[Message], turn: Message, new: Sequence[Message]) -> str | None:
        """The rendered text of a turn with calls; None if the template refuses or alters the conversation."""
        try:
            placeholders, (opening, whole) = self._renderings([before, [*before, turn, *new]])
        except InputError:
            return None
        rendered = all(placeholders.contains(one.content, placeholders.numbers(whole)) for one in new)
        end = self._end_of_call(whole, len(opening))
        return whole[len(opening) : end] if whole.startswith(opening) and end >= 0 and rendered else None

    def _calls_twice(self) -> bool:
        """True if the second turn with calls has the syntax of the first."""
        second = Message("assistant", "", (SECOND_CALL,))
        reply = Message("tool", "second reply", call_id="c1", name=PROBE_TOOL.name)
        try:
            chat = [PROBE_USER, CALLED, REPLY]
            _, (written, text) = self._renderings([chat, [*chat, second, reply]])
        except InputError:
            return False
        shared = next((k for k, (a, b) in enumerate(zip(written, text)) if a != b), min(len(written), len(text)))
        start = text.find(SECOND_CALL.arguments["probe_word"])
        end = self._end_of_call(text, max(start, 0))
        found = self.style.calls.read(text[shared:end]).calls if shared <= start <= end else ()
        return [dict(call.arguments) for call in found[:1]] == [dict(SECOND_CALL.arguments)]

    def _has_parallel_calls(self) -> bool:
        both = (PROBE_CALL, SECOND_CALL)
        replies = [REPLY, Message("tool", "second reply", call_id="c1", name=PROBE_TOOL.name)]
        turn = self._called_turn([PROBE_USER], Message("assistant", "", both), replies)
        return turn is not None and _same(self.style.calls, turn, both)

    def _thought_field(self) -> Thought:
        """The field in which the template renders the thought of a turn with a call."""
        chosen = self.style
        fields: tuple[Thought, ...] = ("content", "reasoning_content", "thinking")
        for field in fields:
            self.style = chosen._replace(thought=field)
            turn = self._called_turn([PROBE_USER], THINKING_CALL, [REPLY])
            if turn is None:
                continue
            parsed = self.style.calls.read(turn)
            if parsed.text.count("<think>") == 1 and "<think>\nHx" in parsed.text and len(parsed.calls) == 1:
                self.style = chosen
                return field
        self.style = chosen
        return "content"

    def _orphans(self) -> Literal["tool", "user"]:
        """The role of tool messages without call."""
        error = Message("tool", "probe error")
        try:
            placeholders, text = self._render([PROBE_USER, ANSWER, error])
        except InputError:
            return "user"
        return "tool" if placeholders.contains(error.content, placeholders.numbers(text)) else "user"

    def _keeps_system(self) -> bool:
        """True if the template accepts a system message, and neither moves nor drops it later."""
        question = [Message("system", "probe rule"), PROBE_USER]
        more = [CALLED, REPLY] if self.style.native else [ANSWER, PROBE_USER]
        tools = self.style.native
        try:
            _, (opening, whole) = self._renderings([question, [*question, *more]], tools=tools)
            return whole.startswith(opening)
        except InputError:
            return False

    def _breaks_after_thought(self) -> bool:
        """False if a call between tags follows a thought without the line break that follows other text."""
        calls = self.style.calls
        if not self.style.native or not isinstance(calls, TaggedCalls):
            return True
        turn = self._called_turn([PROBE_USER], THINKING_CALL, [REPLY])
        return turn is None or f"{NO_BREAK}{calls.start}" not in turn

    def _find_lead(self) -> str:
        """The white space between the header and an answer."""
        chats = ([PROBE_USER], [PROBE_USER, ANSWER])
        placeholders, (opening, whole) = self._renderings(chats, header=False, tools=False)
        after = placeholders.text_after(whole, ANSWER.content)
        between = whole[len(opening) : len(whole) - len(after)] if whole.startswith(opening) else ""
        lead = between[: len(between) - len(between.lstrip())]
        return lead if lead + placeholders.hide(self._rendering.encoder.mark(ANSWER.content)) == between else ""

    def _answer_turn(self) -> str:
        """The rendered text of an answer, up to its end."""
        _, (opening, whole) = self._renderings([[PROBE_USER], [PROBE_USER, ANSWER]], header=False)
        end = whole.find(self.ends.last, len(opening))
        return whole[len(opening) : end] if whole.startswith(opening) and end >= 0 else ""

    def _warn(self, calls: CallSyntax) -> None:
        """Warn of a template with tools whose calls no syntax parses."""
        self.style = self._plain._replace(calls=calls, native=True)
        turn = self._called_turn([PROBE_USER], CALLED, [REPLY])
        if turn is None or PROBE_TOOL.name not in self._render([PROBE_USER])[1] or PROBE_CALL.name not in turn:
            return
        LOGGER.warning(
            "the chat template writes tool calls in a syntax that %s does not parse, so tools are described in a "
            "message instead; pass calls= to use the template's syntax:\n%s",
            type(calls).__name__,
            turn,
        )


def _same(calls: CallSyntax, turn: str, expected: Sequence[ToolCall]) -> bool:
    parsed = calls.read(turn)
    found = [(call.name, dict(call.arguments)) for call in parsed.calls]
    if isinstance(calls, ModelCalls) and parsed.text.strip():
        return False
    return not parsed.errors and found == [(call.name, dict(call.arguments)) for call in expected]


def _tokens(calls: CallSyntax) -> set[str]:
    return set(calls.tokens) if isinstance(calls, ModelCalls) else set()


def _written(calls: CallSyntax) -> str:
    return "".join(piece.text for piece in calls.write("", [PROBE_CALL]))
