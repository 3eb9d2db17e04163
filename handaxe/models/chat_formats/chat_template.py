"""Chat format of any tokenizer's chat template; never encodes sampled ids again.

A template renders whole conversations. This module renders with placeholders for the text of users and tools, splits
the result at the placeholders, and encodes template text and untrusted text separately (see
`models.chat_formats.safe_encoder`), so that untrusted text never becomes a control id. White space at both ends of a
message stays outside the placeholder, where the template can strip it.

`extend` renders the conversation before the policy's turn (opening) and after it (whole):

    opening   <|im_start|>user\n12*34=?<|im_end|>\n<|im_start|>assistant\n
    whole     <|im_start|>user\n12*34=?<|im_end|>\n<|im_start|>assistant\n the turn <|im_end|>\n<|im_start|>tool ...
                                                                                   |-------- appended ids ----------|

If the whole does not start with the opening, or lacks text of the policy's turn (templates that drop earlier thoughts),
no continuation matches the template, and the whole conversation becomes a fresh sequence.

A template may open <think> in the header, so that sampled ids start inside a thought. Messages contain thoughts with
both tags; a message without thought has an empty thought in its ids, which parsing removes:

    message               ids after a header that ends in <think>\n          parsed text
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
from handaxe.models.chat_formats.hermes import TemplateInfo, parse_turn, plain_chat, turn_parts
from handaxe.models.chat_formats.placeholders import Placeholders
from handaxe.models.chat_formats.safe_encoder import Part, SafeEncoder
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, Origin, TaggedCalls

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate"]

LOGGER = logging.getLogger(__name__)
PROBE_TOOL = ToolSchema("probe_tool", "Probe.", {"type": "object", "properties": {"probe_word": {"type": "string"}}})
PROBE_CALL = ToolCall("probe_tool", {"probe_word": "probe value"}, "c0")
PROBE_USER = Message("user", "probe question")
THINK = "<think>"
DATE_CALL = re.compile(r"""strftime_now\(\s*(["'])([^"'\\]*)\1\s*\)""")
NO_THOUGHT = "<think>\n\n</think>\n\n"
"""An empty thought in the notation of templates."""


class ChatTemplate:
    """Implements `core.protocols.ChatFormat` on `tokenizer.apply_chat_template`; see the module.

    `native_tools` True: the template renders tools, calls and tool results, and `calls` can parse its calls. False:
    tool descriptions go to the system message (to the first user message if the template refuses or moves system
    messages), calls are written by `calls`, and results are user messages between <tool_response> tags, as in
    `models.chat_formats.hermes`.

    The template's end of turn, the tokenizer's end of text and `stop` end a turn as "stop". Other special tokens,
    except those that the template uses inside a turn, end it as "header".

    Args:
        tokenizer: a fast tokenizer with a chat template.
        calls: syntax of tool calls; None: `TaggedCalls()`.
        options: further variables of the template, such as {"enable_thinking": False}.
        stop: names of further control tokens that end a turn.
        today: date for templates that use `strftime_now`; checkpoints save it, so that it is constant within a run.
            None: the current date.

    Raises:
        InputError: the tokenizer has no template, the template does not end assistant turns with a control token, or
            the tokenizer alters ordinary text (WordPiece).
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
        self._tools_message: Literal["system", "user"] = "system"
        self._end = self._find_end()
        self._thinking = self._find_thinking()
        turn_tokens = self._probe_tools()
        self._tools_message = "system" if self._supports_system() else "user"
        end_ids = [self._encoder.control[self._end], tokenizer.eos_token_id]
        end_ids += [self._encoder.control.get(name) for name in stop]
        if None in end_ids[2:]:
            raise InputError(f"stop={list(stop)!r}: not all of these are control tokens of the tokenizer")
        self.stop_ids = frozenset(i for i in end_ids if i is not None)
        self.header_ids = frozenset(i for name, i in self._encoder.special.items() if name not in turn_tokens)
        self.header_ids -= self.stop_ids

    # --- chat format -----------------------------------------------------------------------------------------------

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """The whole conversation and the header of the policy's turn.

        Raises:
            InputError: the template refuses the conversation, or alters or drops text of a user or a tool.
        """
        placeholders = Placeholders(self._encoder, messages, tools)
        text = self._render(placeholders, messages, tools, header=True)
        self._check_rendered(placeholders, text, messages)
        return self._encoder.encode_parts(placeholders.parts(text))

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """The end of the policy's turn if the policy did not sample it, the new messages, and the next header.

        Returns:
            Ids to append; or, with fresh=True, the whole conversation as rendered now.

        Raises:
            InputError: as `start`.
        """
        conversation = [*history, *new]
        placeholders = Placeholders(self._encoder, conversation, tools)
        opening = self._render(placeholders, history[:-1], tools, header=True)
        text = self._render(placeholders, conversation, tools, header=True)
        self._check_rendered(placeholders, text, conversation)
        end = text.find(self._end, len(opening))
        last = history[-1]
        turn = "".join([self._thought_close(last), self._content(placeholders, self._without_opened_tag(last))])
        expected = placeholders.content_marks(turn)
        rendered = placeholders.content_marks(text[len(opening) : end], among=expected)
        if not text.startswith(opening) or end < 0 or rendered != expected:
            self._warn()
            return Rendered(*self._encoder.encode_parts(placeholders.parts(text))[:2], fresh=True)
        if last_ids and last_ids[-1] == self._encoder.control[self._end]:
            end += len(self._end)
        return self._encoder.encode_parts(placeholders.parts(text[end:]))

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """Parse the text (thoughts included) and the calls of a turn."""
        del tools
        end_ids = self.stop_ids | self.header_ids
        return parse_turn(
            self._encoder, self._calls, ids, end_ids, opening=self._thinking, ignored_prefix=self._empty_thought
        )

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """Return the ids that a policy samples for a message, the end of the turn included."""
        del tools
        parts = turn_parts(self._encoder, self._calls, self._without_opened_tag(message))
        ids = self._encoder.encode_parts([Part(self._thought_close(message)), *parts]).ids
        return [*ids, self._encoder.control[self._end]]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode text, with control tokens by name."""
        return self._encoder.decode(ids)

    # --- export ----------------------------------------------------------------------------------------------------

    def template_info(self) -> TemplateInfo:
        """The format as a chat template, for `models.exporting`."""
        placeholders = Placeholders(self._encoder, [PROBE_USER], ())
        closed = self._render(placeholders, [PROBE_USER], (), header=False)
        opening = self._render(placeholders, [PROBE_USER], (), header=True)
        header = opening.removeprefix(closed) or placeholders.parts(opening)[-1].text
        template = self._tokenizer.get_chat_template(tools=[{}] if self.native_tools else None)
        header = header.removesuffix(self._thinking)
        dated = _with_date(template, self._today)
        return TemplateInfo(self._encoder, header, dated, self.native_tools, self._tools_message)

    # --- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The date of the run."""
        return {"today": self._today.isoformat()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the date of the run."""
        self._today = datetime.date.fromisoformat(state["today"])

    # --- thoughts opened by the template ---------------------------------------------------------------------------

    def _thought_close(self, message: Message) -> str:
        """Text that closes the template's open thought in a turn without thoughts; "" for other turns."""
        thinks = not self._thinking or message.content.startswith(THINK)
        return "" if thinks else self._empty_thought.removeprefix(self._thinking)

    def _without_opened_tag(self, message: Message) -> Message:
        """The message without the opening tag that the template writes."""
        if not self._thinking or not message.content.startswith(THINK):
            return message
        content = message.content.removeprefix(self._thinking)
        return replace(message, content=content.removeprefix(THINK))

    def _find_thinking(self) -> str:
        """The opened thought at the end of the template's header: <think> and white space, or ""."""
        opening = self._render_probe(header=True)
        start = opening.rfind(THINK)
        return opening[start:] if start >= 0 and opening.rstrip().endswith(THINK) else ""

    @property
    def _empty_thought(self) -> str:
        """An empty thought that starts with the template's opened thought."""
        if NO_THOUGHT.startswith(self._thinking):
            return NO_THOUGHT
        return f"{self._thinking}</think>\n\n"

    # --- rendering -------------------------------------------------------------------------------------------------

    def _render(
        self, placeholders: Placeholders, messages: Sequence[Message], tools: Sequence[ToolSchema], *, header: bool
    ) -> str:
        """Render a conversation with placeholders."""
        schemas: list[Any] | None = None
        try:
            if self.native_tools:
                chat = [self._native(placeholders, message) for message in messages]
                functions = (
                    {"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools
                )
                schemas = [{"type": "function", "function": placeholders.guard(part)} for part in functions] or None
            else:
                plain = plain_chat(self._encoder, self._calls, messages, tools, tools_message=self._tools_message)
                chat = [{"role": role, "content": placeholders.hide(parts)} for role, parts in plain]
            return str(
                self._tokenizer.apply_chat_template(
                    chat,
                    tools=schemas,
                    chat_template=_with_date(self._tokenizer.get_chat_template(tools=schemas), self._today),
                    add_generation_prompt=header,
                    tokenize=False,
                    **self._options,
                )
            )
        except (TemplateError, TypeError, KeyError, RecursionError) as error:
            roles = ", ".join(message.role for message in messages)
            raise InputError(f"the chat template refuses a conversation of {roles}: {error}") from error

    def _native(self, placeholders: Placeholders, message: Message) -> dict[str, Any]:
        out: dict[str, Any] = {"role": message.role, "content": self._content(placeholders, message)}
        if message.calls:
            out["tool_calls"] = [
                {
                    "type": "function",
                    "id": placeholders.call_id(call.id),
                    "function": placeholders.guard({"name": call.name, "arguments": dict(call.arguments)}),
                }
                for call in message.calls
            ]
        if message.role == "tool":
            out |= {"name": placeholders.guard(message.name), "tool_call_id": placeholders.call_id(message.call_id)}
        return out

    def _content(self, placeholders: Placeholders, message: Message) -> str:
        """The text of a message with placeholders; tags in assistant messages stay visible to the template."""
        if message.role == "assistant":
            return placeholders.hide(self._encoder.mark(message.content))
        return placeholders.hide([Part(message.content, Author.TOOL if message.role == "tool" else Author.USER, False)])

    def _check_rendered(self, placeholders: Placeholders, text: str, messages: Sequence[Message]) -> None:
        numbers = placeholders.numbers(text)
        for k, message in enumerate(messages):
            if message.role != "assistant" and not placeholders.contains(message.content, numbers):
                raise InputError(
                    f"the chat template drops or alters the text of message {k} ({message.role}); "
                    "set a tokenizer.chat_template that renders the text unchanged"
                )

    def _warn(self) -> None:
        if not self._warned:
            LOGGER.warning(
                "the chat template rewrites history (it drops thoughts or moves messages), so trajectories of several "
                "turns become several sequences; use a template that keeps earlier turns unchanged for one sequence"
            )
        self._warned = True

    # --- probing the template --------------------------------------------------------------------------------------

    def _render_probe(self, *more: Message, header: bool) -> str:
        chat = [PROBE_USER, *more]
        return self._render(Placeholders(self._encoder, chat, ()), chat, (), header=header)

    def _find_end(self) -> str:
        """The name of the control token that ends an assistant turn of the template."""
        chat = [PROBE_USER, Message("assistant", "probe answer")]
        placeholders = Placeholders(self._encoder, chat, ())
        rest = placeholders.text_after(self._render(placeholders, chat, (), header=False), "probe answer")
        end = self._encoder.names.first(rest)
        if end is None or rest[: end.start].strip():
            raise InputError("the chat template does not end an assistant's turn with a control token of the tokenizer")
        return end.name

    def _supports_system(self) -> bool:
        """True if the template accepts a system message and does not move it."""
        question = [Message("system", "probe rule"), PROBE_USER]
        chat = [*question, Message("assistant", "probe answer"), PROBE_USER]
        placeholders = Placeholders(self._encoder, chat, ())
        try:
            opening = self._render(placeholders, question, (), header=True)
            return self._render(placeholders, chat, (), header=True).startswith(opening)
        except InputError:
            return False

    def _probe_tools(self) -> set[str]:
        """Set `native_tools` and return the control tokens that the template uses inside a turn."""
        question = [PROBE_USER]
        called = [*question, Message("assistant", "", (PROBE_CALL,))]
        chat = [*called, Message("tool", "probe reply", call_id="c0", name=PROBE_TOOL.name)]
        placeholders = Placeholders(self._encoder, chat, [PROBE_TOOL])
        self.native_tools = True
        try:
            opening = self._render(placeholders, question, [PROBE_TOOL], header=True)
            whole = self._render(placeholders, chat, [PROBE_TOOL], header=True)
        except InputError:
            opening = whole = ""
        turn = whole[len(opening) : whole.find(self._end, len(opening))]
        parsed = self._calls.read(turn).calls
        rendered = PROBE_TOOL.name in opening and placeholders.contains("probe reply", placeholders.numbers(whole))
        self.native_tools = whole.startswith(opening) and rendered and parsed == (PROBE_CALL,)
        if rendered and PROBE_CALL.name in turn and not self.native_tools:
            LOGGER.warning(
                "the chat template writes tool calls in a syntax that %s does not parse, so tools are described in a "
                "message instead; pass calls= to use the template's syntax:\n%s",
                type(self._calls).__name__,
                turn,
            )
        example = turn if self.native_tools else self._calls.example
        return {found.name for found in self._encoder.names.find(example)}


def _with_date(template: str, today: datetime.date) -> str:
    """The template with calls of `strftime_now` replaced by the date; the template engine's clock cannot be set."""
    return DATE_CALL.sub(lambda call: json.dumps(today.strftime(call[2])), template)
