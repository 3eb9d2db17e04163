"""The one place where ids, authors and masks of a sequence come into being."""

from collections.abc import Sequence as List

import numpy as np

from handaxe.records import Author, Sequence
from handaxe.slots import Completion, Rendered

__all__ = ["Track"]


class Track:
    """A sequence while it grows. Sampled ids are appended as they were sampled and never encoded again.

    Example:
        track = Track(format.start(messages, tools)); track.sampled(completion, turn=0); track.rendered(reply, turn=0)
    """

    def __init__(self, opening: Rendered):
        self.ids: list[int] = []
        self._author: list[int] = []
        self._turn: list[int] = []
        self._logp: list[float] = []
        self._behaviour_logp: list[float] = []
        self._version: list[int] = []
        self.rendered(opening, turn=-1)

    def rendered(self, part: Rendered, *, turn: int) -> None:
        """Append what a chat format wrote: glue and the words of users and tools."""
        if Author.POLICY in part.authors:
            raise ValueError("a chat format may not claim that the policy wrote its ids")
        zeros = [0.0] * len(part.ids)
        self._append(part.ids, part.authors, turn, zeros, zeros, [-1] * len(part.ids))

    def sampled(self, completion: Completion, *, turn: int) -> tuple[int, int]:
        """Append what the policy sampled; returns its span [start, stop)."""
        start, count = len(self.ids), len(completion.ids)
        authors = [int(Author.POLICY)] * count
        self._append(completion.ids, authors, turn, completion.logp, completion.behaviour_logp, completion.version)
        return start, start + count

    def sequence(self) -> Sequence:
        """The arrays of what was appended so far."""
        return Sequence(
            ids=np.array(self.ids, np.int32),
            author=np.array(self._author, np.int8),
            turn=np.array(self._turn, np.int16),
            logp=np.array(self._logp, np.float32),
            behaviour_logp=np.array(self._behaviour_logp, np.float32),
            version=np.array(self._version, np.int32),
        )

    def _append(
        self,
        ids: List[int],
        authors: List[int],
        turn: int,
        logp: List[float],
        behaviour_logp: List[float],
        version: List[int],
    ) -> None:
        self.ids.extend(ids)
        self._author.extend(authors)
        self._turn.extend([turn] * len(ids))
        self._logp.extend(logp)
        self._behaviour_logp.extend(behaviour_logp)
        self._version.extend(version)
