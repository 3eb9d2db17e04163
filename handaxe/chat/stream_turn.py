"""Streaming of a policy's turn: text as it is sampled, in front of any engine with streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import ChatFormat
from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["OnText", "StreamedEngine", "settled_text"]

OnText = Callable[[str], None]
"""Called with each new piece of text; pieces of a turn join to a start of its text."""
STEP = 4
"""Tokens between two pieces of text."""
MARKS = "<[{|`"
"""Characters that may begin a call."""


class StreamedEngine:
    """Engine for one rollout at a time that samples a turn in parts of a few tokens.

    A part continues the turn with the same seed, so tokens are those of the whole turn.

    Args:
        engine: samples.
        format: chat format, to decode.
        on_text: called in the sampling thread.
    """

    def __init__(self, engine: Any, format: ChatFormat, on_text: OnText):
        self._engine = engine
        self._format, self._on_text = format, on_text
        self.max_length: int = engine.max_length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def stream(self) -> _TurnStream:
        """Open a stream of the engine that reports text."""
        return _TurnStream(self._engine, self._format, self._on_text)


class _TurnStream:
    """Stream that samples each request in parts; implements `core.protocols.Stream`."""

    def __init__(self, engine: Any, format: ChatFormat, on_text: OnText):
        self._stream = engine.stream()
        self._max_length: int = engine.max_length
        self._format, self._on_text = format, on_text
        self._whole: dict[int, tuple[int, Sample, str]] = {}
        """Ticket of the inner stream -> own ticket, whole request, and reported text."""
        self._tickets = 0

    def submit(self, request: Sample) -> int:
        """Add a request and return the ticket."""
        self._tickets += 1
        self._submit(self._tickets - 1, request, request.prefix or Partial([], [], [], []), "")
        return self._tickets - 1

    def _submit(self, ticket: int, request: Sample, partial: Partial, sent: str) -> None:
        limit = min(len(partial.ids) + STEP, self._limit(request))
        part = request._replace(sampling=replace(request.sampling, max_tokens=limit), prefix=partial)
        self._whole[self._stream.submit(part)] = (ticket, request, sent)

    def _limit(self, request: Sample) -> int:
        return min(request.sampling.max_tokens, self._max_length - len(request.ids))

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Return ended turns, and report the text of growing ones."""
        done = []
        for inner, completion in self._stream.poll(wait):
            ticket, request, sent = self._whole.pop(inner)
            ended = completion.finish != "length" or len(completion.ids) >= self._limit(request)
            text = settled_text(self._format, completion.ids, ended=ended)
            if text.startswith(sent) and len(text) > len(sent):
                self._on_text(text[len(sent) :])
                sent = text
            if ended:
                done.append((ticket, completion))
            else:
                self._submit(ticket, request, Partial(*completion[:4]), sent)
        return done

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request and return the sampled part of the turn."""
        inner = next(key for key, (own, _, _) in self._whole.items() if own == ticket)
        del self._whole[inner]
        partial: Partial = self._stream.interrupt(inner)
        return partial

    def __len__(self) -> int:
        return len(self._stream)

    def close(self) -> None:
        """Drop every request."""
        self._stream.close()


def settled_text(format: ChatFormat, ids: Sequence[int], *, ended: bool) -> str:
    """Return the text of a turn that later tokens cannot change: no call, no start of a call, no partial character.

    Args:
        format: parses the ids.
        ids: sampled so far.
        ended: the turn is complete.
    """
    text = format.parse(list(ids), ()).text
    if ended:
        return text
    text = text.rstrip("\ufffd")
    start = min((place for mark in MARKS if (place := text.find(mark)) >= 0), default=len(text))
    return text[:start].rstrip()
