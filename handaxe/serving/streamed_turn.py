"""What a sampled turn says in chat completions: its text as it grows, its calls once it is whole, and how it ended."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ParsedTurn, ToolSchema
from handaxe.core.requests import Completion
from handaxe.serving.openai_schema import Reply

__all__ = ["StreamedTurn"]

LATEST = 64
"""Characters from the end within which a call may have begun that is not to be seen yet."""


class StreamedTurn:
    """A turn, fed with completions each of which goes on where the one before ended.

    Args:
        format: reads the ids.
        tools: those that were offered.
        stop: texts before which the answer ends.

    Attributes:
        ids: what is sampled so far.
        stopped: one of the texts stands in the answer; there is nothing to sample any more.
        whole: the turn as a message, once the policy has ended it; None where it was cut.
    """

    def __init__(self, format: ChatFormat, tools: Sequence[ToolSchema], stop: Sequence[str] = ()):
        self._format, self._stop = format, stop
        self._tools = tools
        self._parsed, self._told = ParsedTurn(""), ""
        self._completion: Completion | None = None
        self._ends = format.stop_ids | format.header_ids
        self.ids: list[int] = []
        self.stopped = False
        self.whole: Message | None = None

    def take(self, completion: Completion) -> None:
        """Read what is sampled so far."""
        self._completion, self.ids = completion, completion.ids
        self._parsed = parsed = self._format.parse(self.ids, self._tools)
        places = [place for stop in self._stop if (place := parsed.text.find(stop)) >= 0]
        if places:
            self.stopped, self._parsed = True, ParsedTurn(parsed.text[: min(places)])
        elif completion.finish != "length":
            content = parsed.text if parsed.calls or not parsed.errors else self._raw()
            self.whole = Message("assistant", content, parsed.calls)

    def news(self) -> str:
        """What can be told by now and was not told before."""
        text = self._parsed.text
        sure = len(text) if self.whole or self.stopped else _sure(text, self._stop)
        return self._tell(text[:sure])

    def rest(self, reply: Reply) -> str:
        """What is left to tell of the answer."""
        return self._tell(reply.content)

    def reply(self, *, logprobs: bool = False) -> Reply:
        """The answer. A turn that was cut has no calls, since what was cut cannot be carried out: all that was said is
        its text, so that the client sees what it was. So is a turn of which no call can be read."""
        done = self._completion
        assert done is not None, "a turn that was never fed"
        made = () if self.whole is None else self.whole.calls
        calls = [(f"call_{secrets.token_hex(8)}", call.name, _json(call.arguments)) for call in made]
        finish = "tool_calls" if calls else "stop" if self.whole or self.stopped else "length"
        content = self._parsed.text
        if self.whole is not None:
            content = self.whole.content
        elif self._parsed.calls or self._parsed.errors:
            content = self._raw()
        told = [(self._format.decode([i]), p) for i, p in zip(done.ids, done.logp)] if logprobs else None
        return Reply(content, calls, finish, len(done.ids), told)

    def _raw(self) -> str:
        said = self.ids[:-1] if self.ids and self.ids[-1] in self._ends else self.ids
        return self._format.decode(said)

    def _tell(self, text: str) -> str:
        if not text.startswith(self._told):
            return ""
        news, self._told = text[len(self._told) :], text
        return news


def _sure(text: str, stops: Sequence[str]) -> int:
    """How many characters of a text that goes on belong to the answer whatever follows: a character may be half there,
    a call may begin with the last line, and so may one of the texts before which the answer ends."""
    held = max((len(stop) - 1 for stop in stops), default=0)
    known = text.rstrip("\ufffd")
    begun = max(known.rfind(mark, max(0, len(known) - LATEST)) for mark in "<[{|")
    known = (known if begun < 0 else known[:begun]).rstrip()
    return max(0, min(len(known), len(text) - held))


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(dict(arguments), ensure_ascii=False)
