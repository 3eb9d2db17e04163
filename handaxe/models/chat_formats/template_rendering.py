"""Rendering of conversations by a chat template, with placeholders for untrusted text."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jinja2.exceptions import TemplateError

from handaxe.core.errors import InputError
from handaxe.core.images import name_images
from handaxe.core.records import Author, Message, ToolSchema
from handaxe.models.chat_formats.hermes import describe_tools, message_parts, plain_chat
from handaxe.models.chat_formats.model_calls import ModelCalls, arguments_json, split_thought
from handaxe.models.chat_formats.placeholders import Placeholders
from handaxe.models.chat_formats.safe_encoder import Part, SafeEncoder
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Style", "TemplateRendering", "Thought"]

Thought = Literal["content", "reasoning_content", "thinking"]
"""Field of a message with its thought."""
DATE_CALL = re.compile(r"""strftime_now\(\s*(["'])([^"'\\]*)\1\s*\)""")


class Style(NamedTuple):
    """Form of the messages that a template accepts.

    calls         syntax of calls
    native        the template renders calls and tool results; False: they are text of messages
    described     tool descriptions are in a message, because the template does not render them
    arguments     arguments of calls: a dict, or JSON text
    thought       thoughts: in the content between tags, or in a field of this name
    orphans       role of a tool message without call, such as the error of a malformed call
    system        role that has the system message's text: a template that moves or drops it gets a user message
    tools_message message with tool descriptions, if `native` is False
    lists         content of messages is a list of parts, for text too
    tool_images   a tool message shows images; False: they follow in a user message
    """

    calls: CallSyntax
    native: bool = False
    described: bool = False
    arguments: Literal["object", "text"] = "object"
    thought: Thought = "content"
    orphans: Literal["tool", "user"] = "tool"
    system: Literal["system", "user"] = "system"
    tools_message: Literal["system", "user"] = "system"
    lists: bool = False
    tool_images: bool = False


class TemplateRendering:
    """Renders conversations by `tokenizer.apply_chat_template`.

    Args:
        tokenizer: with a chat template.
        encoder: of the tokenizer.
        options: further variables of the template.
        today: date for templates that use `strftime_now`.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        encoder: SafeEncoder,
        options: Mapping[str, Any],
        today: datetime.date,
    ):
        self.tokenizer, self.encoder = tokenizer, encoder
        self.options, self.today = options, today

    def template(self, tools: Any) -> str:
        """The template for conversations with these tools, with the date filled in."""
        template = self.tokenizer.get_chat_template(tools=tools)
        return DATE_CALL.sub(lambda call: json.dumps(self.today.strftime(call[2])), template)

    def render(
        self,
        placeholders: Placeholders,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        style: Style,
        *,
        header: bool,
    ) -> str:
        """Render a conversation with placeholders.

        Args:
            header: append the header of an assistant turn.

        Raises:
            InputError: the template refuses the conversation.
        """
        schemas: list[Any] | None = None
        try:
            if style.native:
                chat = self._native(placeholders, messages, tools, style)
                functions = (
                    {"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools
                )
                guarded = [{"type": "function", "function": placeholders.guard(part)} for part in functions]
                schemas = None if style.described else guarded or None
            else:
                plain = plain_chat(self.encoder, style.calls, messages, tools, tools_message=style.tools_message)
                chat = [{"role": role, "content": _content(placeholders, parts)} for role, parts in plain]
            if style.lists:
                chat = [{**one, "content": _listed(one["content"])} for one in chat]
            return str(
                self.tokenizer.apply_chat_template(
                    chat,
                    tools=schemas,
                    chat_template=self.template(schemas),
                    add_generation_prompt=header,
                    tokenize=False,
                    **self.options,
                )
            )
        except (TemplateError, TypeError, KeyError, RecursionError) as error:
            roles = ", ".join(message.role for message in messages)
            raise InputError(f"the chat template refuses a conversation of {roles}: {error}") from error

    def turn_fields(self, placeholders: Placeholders, message: Message, style: Style) -> dict[str, str]:
        """Content of an assistant message, and its thought if the template has a field for thoughts.

        A template with such a field has no other place for text beside a call, so the text joins the thought.
        """
        thought, text = split_thought(message.content)
        if style.thought == "content" or thought is None:
            return {"content": placeholders.hide(self.encoder.mark(message.content))}
        fields = {style.thought: self._hidden(placeholders, thought), "content": self._hidden(placeholders, text)}
        if message.calls and text:
            fields = {style.thought: "\n".join(fields.values()), "content": ""}
        return fields

    def _native(
        self, placeholders: Placeholders, messages: Sequence[Message], tools: Sequence[ToolSchema], style: Style
    ) -> list[dict[str, Any]]:
        """Messages with the fields `tool_calls` and `tool_call_id`."""
        chat, call_ids = list[dict[str, Any]](), dict[str, str]()
        waiting = list[Part]()
        for message in messages:
            if waiting and message.role != "tool":
                chat.append(_images_message(placeholders, waiting))
                waiting = []
            if message.role == "assistant":
                call_ids = {c.id: self._call_id(placeholders, c, k, style) for k, c in enumerate(message.calls)}
                chat.append(self._turn(placeholders, message, call_ids, style))
            elif message.role == "tool":
                orphan = style.orphans == "user" and message.call_id not in call_ids
                parts = message_parts(self.encoder, message)
                if not orphan and not style.tool_images and message.images:
                    waiting += [part for part in parts if part.image is not None]
                    parts = [Part(name_images(message.content, message.images), Author.TOOL, False)]
                out = {"role": "user" if orphan else "tool", "content": _content(placeholders, parts)}
                if not orphan:
                    call_id = call_ids.get(message.call_id) or placeholders.call_id(message.call_id)
                    out |= {"name": placeholders.guard(message.name), "tool_call_id": call_id}
                chat.append(out)
            else:
                parts = message_parts(self.encoder, message)
                chat.append({"role": message.role, "content": _content(placeholders, parts)})
        if waiting:
            chat.append(_images_message(placeholders, waiting))
        if style.described and tools:
            description = placeholders.hide(describe_tools(tools, style.calls))
            if chat and chat[0]["role"] == "system":
                chat[0]["content"] = _joined(chat[0]["content"], description)
            else:
                chat.insert(0, {"role": "system", "content": description})
        if style.system == "user" and len(chat) > 1 and [one["role"] for one in chat[:2]] == ["system", "user"]:
            first = {"role": "user", "content": _joined(chat[0]["content"], chat[1]["content"])}
            chat = [first, *chat[2:]]
        return chat

    def _turn(
        self, placeholders: Placeholders, message: Message, call_ids: Mapping[str, str], style: Style
    ) -> dict[str, Any]:
        out: dict[str, Any] = {"role": "assistant", **self.turn_fields(placeholders, message, style)}
        if message.calls:
            out["tool_calls"] = [
                {"type": "function", "id": call_ids[call.id], "function": self._function(placeholders, call, style)}
                for call in message.calls
            ]
        return out

    def _function(self, placeholders: Placeholders, call: Any, style: Style) -> dict[str, Any]:
        out: dict[str, Any] = placeholders.guard({"name": call.name, "arguments": dict(call.arguments)})
        return out if style.arguments == "object" else {**out, "arguments": arguments_json(out["arguments"])}

    def _call_id(self, placeholders: Placeholders, call: Any, number: int, style: Style) -> str:
        if isinstance(style.calls, ModelCalls):
            return str(placeholders.guard(style.calls.call_id(call, number)))
        return placeholders.call_id(call.id)

    def _hidden(self, placeholders: Placeholders, text: str) -> str:
        return placeholders.hide([Part(text, trusted=False)])


_Content = str | list[dict[str, str]]
"""Content of a message for a template: text, or a list of texts and images."""


def _content(placeholders: Placeholders, parts: Sequence[Part]) -> _Content:
    if all(part.image is None for part in parts):
        return placeholders.hide(parts)
    content = list[dict[str, str]]()
    for shows, run in groupby(parts, key=lambda part: part.image is not None):
        if shows:
            content += [{"type": "image"} for _ in run]
        else:
            content.append({"type": "text", "text": placeholders.hide(list(run))})
    return content


def _images_message(placeholders: Placeholders, images: Sequence[Part]) -> dict[str, Any]:
    """Message of a user with the images of tool results."""
    parts = [Part("<tool_response>\n"), *images, Part("\n</tool_response>")]
    return {"role": "user", "content": _content(placeholders, parts)}


def _listed(content: _Content) -> list[dict[str, str]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _joined(first: _Content, second: _Content) -> _Content:
    """Two contents with an empty line between."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_listed(first), {"type": "text", "text": "\n\n"}, *_listed(second)]
