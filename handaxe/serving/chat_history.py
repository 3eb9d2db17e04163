"""The ids of a conversation whose turns come back as text: those that the policy sampled, where it did.

A client returns a turn as text and calls. Encoding that again need not give the ids that were sampled: white space in
JSON, text behind a call, a number spelled in other tokens. So the ids of turns given out are kept, and found again by
what was said and the ids that stood before it; the conversation then grows as a rollout's does.
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
    """Turns that were given out; the oldest are forgotten.

    Args:
        format: renders what is not known.
        max_turns, max_ids: most that are kept.
    """

    def __init__(self, format: ChatFormat, *, max_turns: int = 10_000, max_ids: int = 2_000_000):
        self._format = format
        self._max_turns, self._max_ids = max_turns, max_ids
        self._turns: OrderedDict[bytes, list[int]] = OrderedDict()
        self._said: dict[bytes, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._turns)

    def keep(self, before: Sequence[int], said: Message, ids: Sequence[int]) -> None:
        """Remember that the policy said this, in these ids, after the ids `before`."""
        key, plain = _key(said, before), _key(said)
        if key not in self._turns:
            self._said[plain] = self._said.get(plain, 0) + 1
        self._size += len(ids) - len(self._turns.pop(key, ()))
        self._turns[key] = list(ids)
        while len(self._turns) > self._max_turns or self._size > self._max_ids:
            old, lost = self._turns.popitem(last=False)
            self._size -= len(lost)
            self._forget(old[:32])

    def ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """The whole conversation up to what precedes the policy's next token.

        Raises:
            InputError: the format refuses the conversation.
        """
        turns = [k for k, message in enumerate(messages) if message.role == "assistant"]
        known = next((k for k in turns if _key(messages[k]) in self._said), None)
        grown = None if known is None else self._grown(messages, tools, [k for k in turns if k >= known])
        return self._format.start(messages, tools).ids if grown is None else grown

    def _grown(self, messages: Sequence[Message], tools: Sequence[ToolSchema], turns: list[int]) -> list[int] | None:
        """The conversation turn by turn; None when no turn of it is known, or one is followed by another."""
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

    def _forget(self, plain: bytes) -> None:
        self._said[plain] -= 1
        if not self._said[plain]:
            del self._said[plain]


def _key(said: Message, before: Sequence[int] | None = None) -> bytes:
    """A digest of what was said; with `before` it goes on with one of the ids that stood before."""
    calls = [(call.name, dict(call.arguments)) for call in said.calls]
    told = json.dumps([said.content, calls], sort_keys=True)
    plain = hashlib.sha256(told.encode()).digest()
    if before is None:
        return plain
    return plain + hashlib.sha256(np.asarray(before, dtype=np.int64).tobytes()).digest()
