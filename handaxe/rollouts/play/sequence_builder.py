"""The one place where ids, authors and masks of a sequence come into being."""

from collections.abc import Collection, Sequence

import numpy as np

from handaxe.core.records import Author, TokenSequence
from handaxe.core.requests import Completion, Partial, Rendered

__all__ = ["SequenceBuilder"]

POLICY, FORCED = int(Author.POLICY), int(Author.FORCED)
TRAINED = frozenset((Author.POLICY, Author.FORCED))


class SequenceBuilder:
    """A sequence while it grows. Sampled ids are appended as they were sampled and never encoded again.

    Example:
        builder = SequenceBuilder(format.start(messages, tools))
        builder.append_sampled(completion, turn=0); builder.append_rendered(reply, turn=0); builder.build()
    """

    def __init__(self, opening: Rendered):
        self.ids: list[int] = []
        """All of it so far. It grows: copy it to keep it."""
        self._author: list[int] = []
        self._turn: list[int] = []
        self._logp: list[float] = []
        self._behaviour_logp: list[float] = []
        self._version: list[int] = []
        self.append_rendered(opening, turn=-1)

    @classmethod
    def of(cls, sequence: TokenSequence) -> "SequenceBuilder":
        """A builder that begins with all of a sequence. Features are left out."""
        made = cls(Rendered([], []))
        names = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
        made._append(*(getattr(sequence, name).tolist() for name in names))
        return made

    def append_rendered(self, part: Rendered, *, turn: int) -> None:
        """Append what a chat format wrote: glue and the words of users and tools."""
        if not TRAINED.isdisjoint(part.authors):
            raise ValueError("a chat format may not claim that the policy wrote its ids")
        zeros = [0.0] * len(part.ids)
        self._append(part.ids, part.authors, [turn] * len(part.ids), zeros, zeros, [-1] * len(part.ids))

    def append_sampled(self, completion: Completion, *, turn: int, forced: Collection[int] = ()) -> tuple[int, int]:
        """Append what the policy sampled; returns its span [start, stop).

        Args:
            forced: places among its ids of those that the policy did not draw here; they are FORCED.
        """
        start, count = len(self.ids), len(completion.ids)
        authors = [POLICY] * count
        logp, version = completion.logp, completion.version
        if forced:
            logp, version = list(logp), list(version)
            for place in forced:
                authors[place] = FORCED
                logp[place], version[place] = 0.0, -1
        self._append(completion.ids, authors, [turn] * count, logp, completion.behaviour_logp, version)
        return start, start + count

    def prefix(self, stop: int) -> "SequenceBuilder":
        """A builder of its own that begins with the first `stop` ids of this one."""
        made = SequenceBuilder(Rendered([], []))
        made._append(self.ids[:stop], self._author[:stop], self._turn[:stop], *self.span(0, stop)[1:])
        return made

    def span(self, start: int, stop: int) -> Partial:
        """What is kept of the ids [start, stop) besides author and turn."""
        span = slice(start, stop)
        return Partial(self.ids[span], self._logp[span], self._behaviour_logp[span], self._version[span])

    def forced(self, start: int, stop: int) -> list[int]:
        """Which of the ids [start, stop) are FORCED, counted from `start`."""
        return [place for place, author in enumerate(self._author[start:stop]) if author == FORCED]

    def build(self) -> TokenSequence:
        """The arrays of what was appended so far."""
        return TokenSequence(
            ids=np.array(self.ids, np.int32),
            author=np.array(self._author, np.int8),
            turn=np.array(self._turn, np.int16),
            logp=np.array(self._logp, np.float32),
            behaviour_logp=np.array(self._behaviour_logp, np.float32),
            version=np.array(self._version, np.int32),
        )

    def _append(
        self,
        ids: Sequence[int],
        authors: Sequence[int],
        turns: Sequence[int],
        logp: Sequence[float],
        behaviour_logp: Sequence[float],
        version: Sequence[int],
    ) -> None:
        self.ids.extend(ids)
        self._author.extend(authors)
        self._turn.extend(turns)
        self._logp.extend(logp)
        self._behaviour_logp.extend(behaviour_logp)
        self._version.extend(version)
