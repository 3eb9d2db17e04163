"""Token ids of a conversation: sampled ids for turns of this server, rendered ids for all other turns.

A client returns a turn as text and calls. Encoding this text may give other ids than the policy sampled: white space in
JSON, text after a call, other tokens for a number. The server therefore stores the ids of its turns, keyed by the
message and by the ids before it, so that a conversation grows token by token as in a rollout.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolSchema

__all__ = ["ChatHistory"]


class ChatHistory:
    """Store of the turns of this server, with eviction of the oldest.

    Args:
        format: renders conversations and unknown turns.
        max_turns, max_ids: capacity in turns and in token ids.
    """

    def __init__(self, format: ChatFormat, *, max_turns: int = 10_000, max_ids: int = 2_000_000):
        self._format = format
        self._max_turns, self._max_ids = max_turns, max_ids
        self._turns: OrderedDict[bytes, list[int]] = OrderedDict()
        self._message_counts: dict[bytes, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, context: Sequence[int], turn: Message, ids: Sequence[int]) -> None:
        """Store the sampled ids of a turn after the ids `context`."""
        key, message_key = _key(turn, context), _key(turn)
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
        turns = [k for k, message in enumerate(messages) if message.role == "assistant"]
        first = next((k for k in turns if _key(messages[k]) in self._message_counts), None)
        ids = None if first is None else self._extend(messages, tools, [k for k in turns if k >= first])
        return self._format.start(messages, tools).ids if ids is None else ids

    def _extend(self, messages: Sequence[Message], tools: Sequence[ToolSchema], turns: list[int]) -> list[int] | None:
        """Ids turn by turn; None if no turn is stored, or if a turn follows directly on another."""
        ids = self._format.start(messages[: turns[0]], tools).ids if turns[0] else []
        found = False
        for k, after in zip(turns, [*turns[1:], len(messages)]):
            key = _key(messages[k], ids)
            sampled = self._turns.get(key)
            if sampled is not None:
                self._turns.move_to_end(key)
                found = True
            turn = sampled or self._format.encode_turn(messages[k], tools)
            if after == k + 1 or not ids:
                return None
            part = self._format.extend(messages[: k + 1], messages[k + 1 : after], turn, tools)
            ids = part.ids if part.fresh else [*ids, *turn, *part.ids]
        return ids if found else None

    def _remove_count(self, message_key: bytes) -> None:
        self._message_counts[message_key] -= 1
        if not self._message_counts[message_key]:
            del self._message_counts[message_key]


def _key(turn: Message, context: Sequence[int] | None = None) -> bytes:
    """Digest of a turn's text and calls; with `context` followed by a digest of the ids before the turn."""
    calls = [(call.name, dict(call.arguments)) for call in turn.calls]
    text = json.dumps([turn.content, calls], sort_keys=True)
    message_key = hashlib.sha256(text.encode()).digest()
    if context is None:
        return message_key
    return message_key + hashlib.sha256(np.asarray(context, dtype=np.int64).tobytes()).digest()
