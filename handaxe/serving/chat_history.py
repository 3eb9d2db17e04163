"""Token ids of a conversation: sampled ids for turns of this server, rendered ids for all other turns.

A client returns a turn as text and calls. Encoding this text may give other ids than the policy sampled: white space in
JSON, text after a call, other tokens for a number. The server therefore stores the ids of its turns, keyed by the
message and by the ids before it, so that a conversation grows token by token as in a rollout.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolSchema
from handaxe.models.chat_formats.safe_encoder import TooManyIds, at_most

__all__ = ["ChatHistory"]


class ChatHistory:
    """Store of the turns of this server, with eviction of the oldest. Thread-safe if the format is.

    Args:
        format: renders conversations and unknown turns.
        max_length: context length in tokens; a longer conversation is rendered without stored turns.
        max_turns, max_ids: capacity in turns and in token ids.
    """

    def __init__(
        self, format: ChatFormat, *, max_length: int = 2**31, max_turns: int = 10_000, max_ids: int = 2_000_000
    ):
        self._format, self._max_length = format, max_length
        self._max_turns, self._max_ids = max_turns, max_ids
        self._turns: OrderedDict[bytes, list[int]] = OrderedDict()
        self._message_counts: dict[bytes, int] = {}
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, context: Sequence[int], turn: Message, ids: Sequence[int]) -> None:
        """Store the sampled ids of a turn after the ids `context`."""
        message_key, before = _message_key(turn), _Digest()
        before.update(context)
        key = message_key + before.value()
        with self._lock:
            if key not in self._turns:
                self._message_counts[message_key] = self._message_counts.get(message_key, 0) + 1
            self._size += len(ids) - len(self._turns.pop(key, ()))
            self._turns[key] = list(ids)
            while len(self._turns) > self._max_turns or self._size > self._max_ids:
                oldest, evicted = self._turns.popitem(last=False)
                self._size -= len(evicted)
                self._remove_count(oldest[:32])

    def ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """Ids of a conversation, up to and including the generation prompt of the next turn.

        Raises:
            InputError: the format refuses the conversation.
        """
        return next(ids for ids in self.steps(messages, tools) if ids is not None)

    def steps(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Iterator[list[int] | None]:
        """Compute `ids` in steps of at most one turn: yields None after each step, and the ids at the end.

        Raises:
            InputError: as `ids`.
            TooManyIds: a text of the conversation alone is above the context length.
        """
        keys = {k: _message_key(message) for k, message in enumerate(messages) if message.role == "assistant"}
        first = next((k for k, key in keys.items() if key in self._message_counts), None)
        ids = None
        if first is not None:
            yield None
            with suppress(TooManyIds):
                ids = yield from self._extend(messages, tools, {k: key for k, key in keys.items() if k >= first})
        if ids is None or len(ids) >= self._max_length:
            with at_most(self._max_length):
                ids = self._format.start(messages, tools).ids
        yield ids

    def _extend(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], keys: dict[int, bytes]
    ) -> Generator[None, None, list[int] | None]:
        """Ids turn by turn; None if no turn is stored, if a turn follows directly on another, or if the ids reach the
        context length."""
        turns = [*keys, len(messages)]
        if not turns[0] or any(after == k + 1 for k, after in pairwise(turns)):
            return None
        found, before = False, _Digest()
        with at_most(self._max_length):
            ids = list(self._format.start(messages[: turns[0]], tools).ids)
        before.update(ids)
        for k, after in pairwise(turns):
            if len(ids) >= self._max_length:
                return None
            yield None
            sampled = self._find(keys[k] + before.value())
            found = found or sampled is not None
            with at_most(self._max_length):
                turn = sampled or self._format.encode_turn(messages[k], tools)
                part = self._format.extend(messages[: k + 1], messages[k + 1 : after], turn, tools)
            if part.fresh:
                ids, before = [], _Digest()
            new = part.ids if part.fresh else [*turn, *part.ids]
            ids += new
            before.update(new)
        return ids if found else None

    def _find(self, key: bytes) -> list[int] | None:
        with self._lock:
            if key in self._turns:
                self._turns.move_to_end(key)
            return self._turns.get(key)

    def _remove_count(self, message_key: bytes) -> None:
        self._message_counts[message_key] -= 1
        if not self._message_counts[message_key]:
            del self._message_counts[message_key]


class _Digest:
    """Digest of growing ids."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, ids: Sequence[int]) -> None:
        self._hash.update(np.asarray(ids, dtype=np.int64).tobytes())

    def value(self) -> bytes:
        return self._hash.copy().digest()


def _message_key(turn: Message) -> bytes:
    """Digest of a turn's text and calls."""
    calls = [(call.name, dict(call.arguments)) for call in turn.calls]
    return hashlib.sha256(json.dumps([turn.content, calls], sort_keys=True).encode()).digest()
