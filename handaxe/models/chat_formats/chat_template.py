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
import logging
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import InputError
from handaxe.core.images import name_images, split_images
from handaxe.core.records import Message, ParsedTurn, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.hermes import TemplateInfo, parse_turn, turn_parts
from handaxe.models.chat_formats.image_parts import refuse_images, without_images
from handaxe.models.chat_formats.model_calls import ModelCalls, split_thought
from handaxe.models.chat_formats.placeholders import Placeholders
from handaxe.models.chat_formats.safe_encoder import THINKING, Part, SafeEncoder
from handaxe.models.chat_formats.template_probe import NO_BREAK, PROBE_USER, Probe
from handaxe.models.chat_formats.template_rendering import Style, TemplateRendering
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, Origin

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from handaxe.models.image_processors import ProcessorImages

__all__ = ["ChatTemplate"]

LOGGER = logging.getLogger(__name__)
THINK = "<think>"
NO_THOUGHT = "<think>\n\n</think>\n\n"
"""An empty thought in the notation of templates."""


class ChatTemplate:
    """Implements `core.protocols.ChatFormat` on `tokenizer.apply_chat_template`; see the module.

    `native_tools` True: the template renders tools, calls and tool results, and `calls` can parse its calls. False:
    the template renders calls but no tools (`style.described`), and descriptions go to the system message; or
    tool descriptions go to the system message (to the first user message if the template refuses or moves system
    messages), calls are written by `calls`, and results are user messages between <tool_response> tags, as in
    `models.chat_formats.hermes`.

    The template's end of turn, the tokenizer's end of text and `stop` end a turn as "stop". Other special tokens,
    except those that the template uses inside a turn, end it as "header".

    Args:
        tokenizer: a fast tokenizer with a chat template.
        calls: syntax of tool calls; None: the syntax in which the template renders a call (`template_probe.SYNTAXES`),
            and `TaggedCalls()` for a template without tools.
        options: further variables of the template, such as {"enable_thinking": False}.
        stop: names of further control tokens that end a turn.
        today: date for templates that use `strftime_now`; checkpoints save it, so that it is constant within a run.
            None: the current date.
        image_processor: of a transformers model; None for a model without vision. Images of tool results stand in the
            tool message, or in a user message after the tool messages if the template shows none there.

    Raises:
        InputError: the tokenizer has no template, the template does not end assistant turns with a control token or
            shows no image, or the tokenizer alters ordinary text (WordPiece).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        calls: CallSyntax | None = None,
        options: Mapping[str, Any] | None = None,
        stop: Sequence[str] = (),
        today: datetime.date | None = None,
        image_processor: ProcessorImages | None = None,
    ):
        if tokenizer.chat_template is None:
            raise InputError("the tokenizer has no chat template; set tokenizer.chat_template, or use another format")
        self.image_processor = image_processor
        self._encoder = SafeEncoder(tokenizer, image_processor)
        self._encoder.check_faithful()
        self._rendering = TemplateRendering(
            tokenizer, self._encoder, dict(options or {}), today or datetime.date.today()
        )
        probe = Probe(self._rendering, calls)
        self.style: Style = probe.style
        self.parallel_calls, self._thought_break = probe.parallel, probe.thought_break
        self._ends, self._turn_tokens = probe.ends, probe.turn_tokens
        self._lead, self._warned = probe.lead, False
        self.origin = Origin(tokenizer, self.style.calls, self._rendering.options, tuple(stop))
        self._thinking = self._find_thinking()
        end_ids = [self._encoder.control[name] for name in dict.fromkeys((self._ends.last, self._ends.call))]
        stop_ids = [tokenizer.eos_token_id, *(self._encoder.control.get(name) for name in stop)]
        if None in stop_ids[1:]:
            raise InputError(f"stop={list(stop)!r}: not all of these are control tokens of the tokenizer")
        self.stop_ids = frozenset({*end_ids, *(i for i in stop_ids if i is not None)})
        outside = (i for name, i in self._encoder.special.items() if name not in self._turn_tokens)
        own = () if image_processor is None else image_processor.vocabulary_ids
        self.header_ids = frozenset({*outside, *own}) - self.stop_ids

    @property
    def native_tools(self) -> bool:
        """True if the template renders tools, calls and tool results."""
        return self.style.native and not self.style.described

    # --- chat format -----------------------------------------------------------------------------------------------

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """The whole conversation and the header of the policy's turn.

        Raises:
            InputError: the template refuses the conversation, or alters or drops text or images of a user or a tool.
        """
        messages = self._readable(messages)
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
        history, new = self._readable(history), self._readable(new)
        conversation = [*history, *new]
        placeholders = Placeholders(self._encoder, conversation, tools)
        opening = self._render(placeholders, history[:-1], tools, header=True)
        text = self._render(placeholders, conversation, tools, header=True)
        self._check_rendered(placeholders, text, conversation)
        last, end_name = history[-1], self._ends.call if history[-1].calls else self._ends.answer
        end = text.find(end_name, len(opening))
        continues = text.startswith(opening) and end >= 0
        if not continues or not self._keeps_turn(placeholders, last, text[len(opening) : end]):
            return self._rewritten(placeholders, text)
        if last_ids and last_ids[-1] == self._encoder.control[end_name]:
            end += len(end_name)
        elif last_ids and last_ids[-1] in {self._encoder.control[name] for name in self._ends}:
            return self._rewritten(placeholders, text)
        return self._encoder.encode_parts(placeholders.parts(text, end))

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """Parse the text (thoughts included) and the calls of a turn."""
        calls, end_ids = self.style.calls, self.stop_ids | self.header_ids
        if isinstance(calls, ModelCalls):
            calls = calls.for_tools(tools)
        ignored = self._empty_thought if self._thinking else self._lead
        parsed = parse_turn(self._encoder, calls, ids, end_ids, opening=self._thinking, ignored_prefix=ignored)
        if len(parsed.calls) < 2 or self.parallel_calls:
            return parsed
        error = f"{len(parsed.calls)} calls in a turn: the model's chat template has one call per turn"
        return replace(parsed, calls=(), errors=(*parsed.errors, error), spans=())

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """Return the ids that a policy samples for a message, the end of the turn included.

        Raises:
            InputError: the message has several calls, and the template one call per turn; or it has images.
        """
        del tools
        refuse_images(message)
        if len(message.calls) > 1 and not self.parallel_calls:
            raise InputError(
                f"a turn has {len(message.calls)} calls, and the chat template renders one call per turn: write one "
                "call per turn"
            )
        if message.calls and not self._thought_break and message.content.endswith(NO_BREAK):
            message = replace(message, content=message.content.removesuffix("\n"))  # the call syntax adds a break
        parts = turn_parts(self._encoder, self.style.calls, self._without_opened_tag(message))
        lead = "" if message.calls and self.style.native else self._lead
        ids = self._encoder.encode_parts([Part(f"{lead}{self._thought_close(message)}"), *parts]).ids
        return [*ids, self._encoder.control[self._ends.call if message.calls else self._ends.last]]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode text, with control tokens by name."""
        return self._encoder.decode(ids)

    def _readable(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages; without an image processor, images of tool results in words."""
        return without_images(messages) if self.image_processor is None else messages

    # --- export ----------------------------------------------------------------------------------------------------

    def template_info(self) -> TemplateInfo:
        """The format as a chat template, for `models.exporting`."""
        placeholders = Placeholders(self._encoder, [PROBE_USER], ())
        closed = self._render(placeholders, [PROBE_USER], (), header=False)
        opening = self._render(placeholders, [PROBE_USER], (), header=True)
        header = opening.removeprefix(closed) or placeholders.parts(opening)[-1].text
        template = self._rendering.template([{}] if self.native_tools else None)
        header = header.removesuffix(self._thinking)
        style = self.style
        in_tools = style.tool_images or not style.native
        return TemplateInfo(
            self._encoder, header, template, self.native_tools, style.tools_message, style.lists, in_tools
        )

    # --- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The date of the run."""
        return {"today": self._rendering.today.isoformat()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the date of the run."""
        self._rendering.today = datetime.date.fromisoformat(state["today"])

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
        placeholders = Placeholders(self._encoder, [PROBE_USER], ())
        opening = self._render(placeholders, [PROBE_USER], (), header=True)
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
        return self._rendering.render(placeholders, messages, tools, self.style, header=header)

    def _keeps_turn(self, placeholders: Placeholders, last: Message, turn: str) -> bool:
        """True if the rendered turn has the text and thoughts of the message, and no token of another turn."""
        fields = self._rendering.turn_fields(placeholders, self._without_opened_tag(last), self.style)
        if self.style.thought != "content" and last.calls and split_thought(last.content)[1]:
            return False  # the template moves text beside a call to the thought
        expected = placeholders.content_marks("".join([self._thought_close(last), *fields.values()]))
        rendered = placeholders.content_marks(turn, among=expected)
        calls = self.style.calls
        if isinstance(calls, ModelCalls) and calls.writes_empty_thought and rendered[:2] == list(THINKING):
            rendered = rendered[2:]
        if not isinstance(calls, ModelCalls):
            return rendered == expected
        inside = {*self._turn_tokens, *THINKING, *(one.name for one in self._encoder.names.find(last.content))}
        return rendered == expected and all(one.name in inside for one in self._encoder.names.find(turn))

    def _rewritten(self, placeholders: Placeholders, text: str) -> Rendered:
        """The whole conversation as a fresh sequence."""
        if not self._warned:
            LOGGER.warning(
                "the chat template rewrites history (it drops thoughts or moves messages), so trajectories of several "
                "turns become several sequences; use a template that keeps earlier turns unchanged for one sequence"
            )
        self._warned = True
        return Rendered(*self._encoder.encode_parts(placeholders.parts(text))[:2], fresh=True)

    def _check_rendered(self, placeholders: Placeholders, text: str, messages: Sequence[Message]) -> None:
        if missing := placeholders.missing_images(text):
            found = "drops" if missing > 0 else "repeats"
            raise InputError(
                f"the chat template {found} {abs(missing)} images; set a tokenizer.chat_template that writes one "
                f"{self._encoder.placeholder} for each image"
            )
        numbers = placeholders.numbers(text)
        for k, message in enumerate(messages):
            if message.role != "assistant" and not self._contains(placeholders, message, numbers):
                raise InputError(
                    f"the chat template drops or alters the text of message {k} ({message.role}); "
                    "set a tokenizer.chat_template that renders the text unchanged"
                )

    def _contains(self, placeholders: Placeholders, message: Message, numbers: Set[int]) -> bool:
        """True if every text of a message is rendered; a tool message may name its images in words."""
        if not message.images:
            return placeholders.contains(message.content, numbers)
        texts = [part for part in split_images(message.content, message.images) if isinstance(part, str)]
        named = name_images(message.content, message.images)
        whole = message.role == "tool" and placeholders.contains(named, numbers)
        return whole or all(placeholders.contains(text, numbers) for text in texts)
