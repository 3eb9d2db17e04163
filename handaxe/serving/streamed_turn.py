"""Incremental output of a sampled turn: text as it grows, tool calls at the end, finish reason."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ParsedTurn, ToolSchema
from handaxe.core.requests import Completion
from handaxe.serving.openai_schema import Choice, TokenLogp

__all__ = ["StreamedTurn"]

CALL_WINDOW = 64
"""Characters at the end of the text that may be the start of a tool call and are not streamed yet."""


class StreamedTurn:
    """A turn, updated with growing completions.

    Args:
        format: parses the ids.
        tools: offered tools.
        stop: stop strings; the answer ends before the first occurrence.

    Attributes:
        ids: sampled ids.
        stopped: the answer contains a stop string; sampling can end.
        message: the complete turn, once the policy has ended it; None for a truncated turn.
    """

    def __init__(self, format: ChatFormat, tools: Sequence[ToolSchema], stop: Sequence[str] = ()):
        self._format, self._stop = format, stop
        self._tools = tools
        self._parsed, self._sent = ParsedTurn(""), ""
        self._completion: Completion | None = None
        self._end_ids = format.stop_ids | format.header_ids
        self.ids: list[int] = []
        self.stopped = False
        self.message: Message | None = None

    def update(self, completion: Completion) -> None:
        """Parse a longer completion of the turn."""
        self._completion, self.ids = completion, completion.ids
        self._parsed = parsed = self._format.parse(self.ids, self._tools)
        positions = [position for stop in self._stop if (position := parsed.text.find(stop)) >= 0]
        if positions:
            self.stopped, self._parsed = True, ParsedTurn(parsed.text[: min(positions)])
        elif completion.finish != "length":
            content = parsed.text if parsed.calls or not parsed.errors else self._raw_text()
            self.message = Message("assistant", content, parsed.calls)

    def new_text(self) -> str:
        """The final text that was not returned before."""
        text = self._parsed.text
        final = len(text) if self.message or self.stopped else _final_length(text, self._stop)
        return self._advance(text[:final])

    def remaining_text(self, choice: Choice) -> str:
        """The text of a choice that was not returned before."""
        return self._advance(choice.content)

    def choice(self, *, logprobs: bool = False) -> Choice:
        """The choice of the turn. A truncated turn, and a turn without a valid call, has no calls and all of its text
        as content, because a truncated call cannot be executed."""
        done = self._completion
        assert done is not None, "call update first"
        turn_calls = () if self.message is None else self.message.calls
        calls = [(f"call_{secrets.token_hex(8)}", call.name, _json(call.arguments)) for call in turn_calls]
        finish = "tool_calls" if calls else "stop" if self.message or self.stopped else "length"
        content = self._parsed.text
        if self.message is not None:
            content = self.message.content
        elif self._parsed.calls or self._parsed.errors:
            content = self._raw_text()
        token_logp = self._token_logp(done) if logprobs else None
        return Choice(content, calls, finish, len(done.ids), token_logp)

    def _token_logp(self, done: Completion) -> list[TokenLogp]:
        """Texts and log-probs of the sampled tokens and of their alternatives."""
        top = done.top or [()] * len(done.ids)
        return [
            self._token(token, logp)._replace(top=[self._token(*one) for one in others])
            for token, logp, others in zip(done.ids, done.logp, top, strict=True)
        ]

    def _token(self, token: int, logp: float) -> TokenLogp:
        text = self._format.decode([token])
        return TokenLogp(text, logp, token not in self._end_ids and "\ufffd" not in text)

    def _raw_text(self) -> str:
        ids = self.ids[:-1] if self.ids and self.ids[-1] in self._end_ids else self.ids
        return self._format.decode(ids)

    def _advance(self, text: str) -> str:
        if not text.startswith(self._sent):
            return ""
        new, self._sent = text[len(self._sent) :], text
        return new


def _final_length(text: str, stops: Sequence[str]) -> int:
    """Length of the part of a growing text that later tokens cannot change: not a partial character, nor the possible
    start of a call or of a stop string."""
    stop_margin = max((len(stop) - 1 for stop in stops), default=0)
    final = text.rstrip("\ufffd")
    call_start = max(final.rfind(mark, max(0, len(final) - CALL_WINDOW)) for mark in "<[{|")
    final = (final if call_start < 0 else final[:call_start]).rstrip()
    return max(0, min(len(final), len(text) - stop_margin))


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False)
