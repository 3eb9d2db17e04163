"""Any tokenizer's own chat template as a chat format, without ever encoding sampled ids again.

A template is written to render whole conversations. This module renders them with placeholders in place of what users
and tools said, cuts the result at the placeholders, and encodes the template's words and theirs apart (see
`models.untrusted`), so that no word of users and tools becomes a control id. White space at the ends of a message
stays outside its placeholder, where the template can strip it.

To extend, it renders the conversation before the policy's turn (opening) and after it (whole):

    opening   <|im_start|>user\n12*34=?<|im_end|>\n<|im_start|>assistant\n
    whole     <|im_start|>user\n12*34=?<|im_end|>\n<|im_start|>assistant\n the turn <|im_end|>\n<|im_start|>tool ...
                                                                                   |-------- what is appended ------|

When the whole does not begin with the opening, or no longer says what the policy said (templates that drop earlier
thoughts), no continuation is true to the template: the whole conversation is handed over as a fresh sequence.

A template may open <think> itself, so that the policy's ids begin inside a thought. Messages hold thoughts with both
their tags; a message without any has the empty thought in its ids, which is left out again when they are read:

    message               the header ends in <think>\n, the ids say          and are read as
    <think>\nhm</think>2   hm</think>2                                        <think>\nhm</think>2
    2                     \n</think>\n\n2                                      2
"""

from __future__ import annotations

import datetime
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from jinja2.exceptions import TemplateError

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, ParsedTurn, ToolCall, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.calls import CallSyntax, Origin, TaggedCalls
from handaxe.models.hermes import Wording, plain_chat, read_turn, turn_parts
from handaxe.models.placeholders import Placeholders
from handaxe.models.untrusted import Part, SafeEncoder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate"]

LOGGER = logging.getLogger(__name__)
PROBE_TOOL = ToolSchema("probe_tool", "Probe.", {"type": "object", "properties": {"probe_word": {"type": "string"}}})
PROBE_CALL = ToolCall("probe_tool", {"probe_word": "probe value"}, "c0")
PROBE_USER = Message("user", "probe question")
THINK = "<think>"
ASKS_DATE = re.compile(r"""strftime_now\(\s*(["'])([^"'\\]*)\1\s*\)""")
NO_THOUGHT = "<think>\n\n</think>\n\n"
"""The empty thought, as templates write it."""


class ChatTemplate:
    """Implements `slots.ChatFormat` on `tokenizer.apply_chat_template`; see the module.

    Where the template renders tools, calls and tool replies in a way that `calls` can read, they are left to it.
    Where it does not, tools are told in the system message (in the first user message, where the template refuses or
    moves system messages), calls are written as `calls` has it, and replies are user messages between <tool_response>
    tags, as in `models.hermes`. `native_tools` says which.

    A turn ends ("stop") at the template's own end of turn, the tokenizer's end of text and `stop`; any other special
    token that the template does not itself use inside a turn ends it as "header".

    Args:
        tokenizer: a fast tokenizer with a chat template.
        calls: how the policy writes calls.
        options: further variables of the template, such as {"enable_thinking": False}.
        stop: names of further control tokens that end a turn.
        today: what a template is told that asks for the date (`strftime_now`), for as long as a run goes on, since
            checkpoints keep it. None: the day on which the format is made.

    Raises:
        InputError: when there is no template, it does not close an assistant's turn with a control token, or the
            tokenizer alters ordinary text (WordPiece).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        calls: CallSyntax | None = None,
        options: Mapping[str, Any] | None = None,
        stop: Sequence[str] = (),
        today: datetime.date | None = None,
    ):
        self._tokenizer, self._options = tokenizer, dict(options or {})
        self._today = today or datetime.date.today()
        if tokenizer.chat_template is None:
            raise InputError("the tokenizer has no chat template; set tokenizer.chat_template, or use another format")
        self._encoder = SafeEncoder(tokenizer)
        self._encoder.check_faithful()
        self._calls = calls or TaggedCalls()
        self.origin = Origin(tokenizer, self._calls, self._options, tuple(stop))
        self._warned = False
        self.native_tools = False
        self._tell: Literal["system", "user"] = "system"
        self._end = self._find_end()
        self._thinking = self._find_thinking()
        inside = self._probe_tools()
        self._tell = "system" if self._keeps_system() else "user"
        ends = [self._encoder.control[self._end], tokenizer.eos_token_id]
        ends += [self._encoder.control.get(name) for name in stop]
        if None in ends[2:]:
            raise InputError(f"stop={list(stop)!r}: not all of these are control tokens of the tokenizer")
        self.stop_ids = frozenset(i for i in ends if i is not None)
        self.header_ids = frozenset(i for name, i in self._encoder.special.items() if name not in inside)
        self.header_ids -= self.stop_ids

    # --- the five verbs --------------------------------------------------------------------------------------------

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """The whole conversation and the header of the policy's turn.

        Raises:
            InputError: when the template refuses the conversation, or alters or drops what a user or a tool said.
        """
        hidden = Placeholders(self._encoder, messages, tools)
        text = self._render(hidden, messages, tools, header=True)
        self._check_said(hidden, text, messages)
        return self._encoder.encode_parts(hidden.parts(text))

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """The end of the policy's turn where it did not sample it, the new messages, and the next header.

        Returns:
            What to append; or, with fresh=True, the whole conversation as the template now renders it.

        Raises:
            InputError: as `start`.
        """
        whole = [*history, *new]
        hidden = Placeholders(self._encoder, whole, tools)
        opening = self._render(hidden, history[:-1], tools, header=True)
        text = self._render(hidden, whole, tools, header=True)
        self._check_said(hidden, text, whole)
        end = text.find(self._end, len(opening))
        turn = "".join([self._closed(history[-1]), self._content(hidden, self._continued(history[-1]))])
        said = hidden.thoughts_and_words(turn)
        kept = hidden.thoughts_and_words(text[len(opening) : end], among=said)
        if not text.startswith(opening) or end < 0 or kept != said:
            self._warn()
            return Rendered(*self._encoder.encode_parts(hidden.parts(text))[:2], fresh=True)
        if last_ids and last_ids[-1] == self._encoder.control[self._end]:
            end += len(self._end)
        return self._encoder.encode_parts(hidden.parts(text[end:]))

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """The text (thoughts included) and the calls of a turn."""
        del tools
        ends = self.stop_ids | self.header_ids
        return read_turn(self._encoder, self._calls, ids, ends, begun=self._thinking, dropped=self._no_thought)

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """The ids a policy would sample to say this."""
        del tools
        parts = turn_parts(self._encoder, self._calls, self._continued(message))
        ids = self._encoder.encode_parts([Part(self._closed(message)), *parts]).ids
        return [*ids, self._encoder.control[self._end]]

    def decode(self, ids: Sequence[int]) -> str:
        """Text, control tokens by name."""
        return self._encoder.decode(ids)

    # --- how it words things ---------------------------------------------------------------------------------------

    def wording(self) -> Wording:
        """For `models.exporting`."""
        hidden = Placeholders(self._encoder, [PROBE_USER], ())
        closed = self._render(hidden, [PROBE_USER], (), header=False)
        opening = self._render(hidden, [PROBE_USER], (), header=True)
        header = opening.removeprefix(closed) or hidden.parts(opening)[-1].text
        own = self._tokenizer.get_chat_template(tools=[{}] if self.native_tools else None)
        header = header.removesuffix(self._thinking)
        return Wording(self._encoder, header, _dated(own, self._today), self.native_tools, self._tell)

    # --- what a run keeps of it ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The day that templates are told."""
        return {"today": self._today.isoformat()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back the day that a run began on."""
        self._today = datetime.date.fromisoformat(state["today"])

    # --- a thought that the template has opened --------------------------------------------------------------------

    def _closed(self, message: Message) -> str:
        """With what a turn without thoughts closes the thought that the template has opened."""
        thinks = not self._thinking or message.content.startswith(THINK)
        return "" if thinks else self._no_thought.removeprefix(self._thinking)

    def _continued(self, message: Message) -> Message:
        """The message without the tag that the template has written for it."""
        if not self._thinking or not message.content.startswith(THINK):
            return message
        content = message.content.removeprefix(self._thinking)
        return replace(message, content=content.removeprefix(THINK))

    def _find_thinking(self) -> str:
        """What the template writes of a thought before the policy's first word: <think> and white space, or ""."""
        opening = self._render_probe(header=True)
        begins = opening.rfind(THINK)
        return opening[begins:] if begins >= 0 and opening.rstrip().endswith(THINK) else ""

    @property
    def _no_thought(self) -> str:
        """An empty thought that begins as the template begins every thought."""
        if NO_THOUGHT.startswith(self._thinking):
            return NO_THOUGHT
        return f"{self._thinking}</think>\n\n"

    # --- rendering -------------------------------------------------------------------------------------------------

    def _render(
        self, hidden: Placeholders, messages: Sequence[Message], tools: Sequence[ToolSchema], *, header: bool
    ) -> str:
        """What the template makes of a conversation with placeholders."""
        schemas: list[Any] | None = None
        try:
            if self.native_tools:
                chat = [self._native(hidden, message) for message in messages]
                told = ({"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools)
                schemas = [{"type": "function", "function": hidden.guard(part)} for part in told] or None
            else:
                spoken = plain_chat(self._encoder, self._calls, messages, tools, tell=self._tell)
                chat = [{"role": role, "content": hidden.hide(parts)} for role, parts in spoken]
            return str(
                self._tokenizer.apply_chat_template(
                    chat,
                    tools=schemas,
                    chat_template=_dated(self._tokenizer.get_chat_template(tools=schemas), self._today),
                    add_generation_prompt=header,
                    tokenize=False,
                    **self._options,
                )
            )
        except (TemplateError, TypeError, KeyError, RecursionError) as error:
            roles = ", ".join(message.role for message in messages)
            raise InputError(f"the chat template refuses a conversation of {roles}: {error}") from error

    def _native(self, hidden: Placeholders, message: Message) -> dict[str, Any]:
        out: dict[str, Any] = {"role": message.role, "content": self._content(hidden, message)}
        if message.calls:
            out["tool_calls"] = [
                {
                    "type": "function",
                    "id": hidden.call_id(call.id),
                    "function": hidden.guard({"name": call.name, "arguments": dict(call.arguments)}),
                }
                for call in message.calls
            ]
        if message.role == "tool":
            out |= {"name": hidden.guard(message.name), "tool_call_id": hidden.call_id(message.call_id)}
        return out

    def _content(self, hidden: Placeholders, message: Message) -> str:
        """A message's own words; those of an assistant keep their tags, which templates look for."""
        if message.role == "assistant":
            return hidden.hide(self._encoder.mark(message.content))
        return hidden.hide([Part(message.content, Author.TOOL if message.role == "tool" else Author.USER, False)])

    def _check_said(self, hidden: Placeholders, text: str, messages: Sequence[Message]) -> None:
        found = hidden.found(text)
        for k, message in enumerate(messages):
            if message.role != "assistant" and not hidden.is_among(message.content, found):
                raise InputError(
                    f"the chat template drops or alters what message {k} ({message.role}) says; "
                    "set a tokenizer.chat_template that renders it as it is"
                )

    def _warn(self) -> None:
        if not self._warned:
            LOGGER.warning(
                "the chat template rewrites history (it drops thoughts or moves messages), so trajectories of several "
                "turns become several sequences; use a template that leaves earlier turns alone to keep them one"
            )
        self._warned = True

    # --- asking the template what it is ----------------------------------------------------------------------------

    def _render_probe(self, *more: Message, header: bool) -> str:
        chat = [PROBE_USER, *more]
        return self._render(Placeholders(self._encoder, chat, ()), chat, (), header=header)

    def _find_end(self) -> str:
        """The name of the control token with which the template ends an assistant's turn."""
        chat = [PROBE_USER, Message("assistant", "probe answer")]
        hidden = Placeholders(self._encoder, chat, ())
        after = hidden.after(self._render(hidden, chat, (), header=False), "probe answer")
        end = self._encoder.names.first(after)
        if end is None or after[: end.start].strip():
            raise InputError("the chat template does not end an assistant's turn with a control token of the tokenizer")
        return end.name

    def _keeps_system(self) -> bool:
        """Whether the template takes a system message and leaves it where it is."""
        asked = [Message("system", "probe rule"), PROBE_USER]
        whole = [*asked, Message("assistant", "probe answer"), PROBE_USER]
        hidden = Placeholders(self._encoder, whole, ())
        try:
            opening = self._render(hidden, asked, (), header=True)
            return self._render(hidden, whole, (), header=True).startswith(opening)
        except InputError:
            return False

    def _probe_tools(self) -> set[str]:
        """Decide on `native_tools`; the control tokens that the template uses inside a turn."""
        asked = [PROBE_USER]
        called = [*asked, Message("assistant", "", (PROBE_CALL,))]
        chat = [*called, Message("tool", "probe reply", call_id="c0", name=PROBE_TOOL.name)]
        hidden = Placeholders(self._encoder, chat, [PROBE_TOOL])
        self.native_tools = True
        try:
            opening = self._render(hidden, asked, [PROBE_TOOL], header=True)
            whole = self._render(hidden, chat, [PROBE_TOOL], header=True)
        except InputError:
            opening = whole = ""
        turn = whole[len(opening) : whole.find(self._end, len(opening))]
        read = self._calls.read(turn).calls
        told = PROBE_TOOL.name in opening and hidden.is_among("probe reply", hidden.found(whole))
        self.native_tools = whole.startswith(opening) and told and read == (PROBE_CALL,)
        if told and PROBE_CALL.name in turn and not self.native_tools:
            LOGGER.warning(
                "the chat template writes tool calls in a way that %s does not read, so tools are told in a "
                "message instead; pass calls= to use the template's own way:\n%s",
                type(self._calls).__name__,
                turn,
            )
        example = turn if self.native_tools else self._calls.example
        return {found.name for found in self._encoder.names.find(example)}


def _dated(template: str, today: datetime.date) -> str:
    """The template with what it asks of `strftime_now` written in, for its clock cannot be set from outside."""
    return ASKS_DATE.sub(lambda asked: json.dumps(today.strftime(asked[2])), template)
