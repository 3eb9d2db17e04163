"""Builder of sequences: the only place that makes ids, authors and masks."""

from collections.abc import Collection, Sequence

import numpy as np

from handaxe.core.images import FIRST_IMAGE_ID
from handaxe.core.records import Author, TokenSequence
from handaxe.core.requests import Completion, Partial, Rendered

__all__ = ["SequenceBuilder", "extend_sequences"]

POLICY, FORCED = int(Author.POLICY), int(Author.FORCED)
TRAINED = frozenset((Author.POLICY, Author.FORCED))


class SequenceBuilder:
    """Growing sequence. Sampled ids are appended as sampled and never encoded again.

    Example:
        builder = SequenceBuilder(format.start(messages, tools))
        builder.append_sampled(completion, turn=0); builder.append_rendered(reply, turn=0); builder.build()
    """

    def __init__(self, opening: Rendered):
        self.ids: list[int] = []
        """All ids so far. The list grows: copy before storing it."""
        self._author: list[int] = []
        self._turn: list[int] = []
        self._logp: list[float] = []
        self._behaviour_logp: list[float] = []
        self._version: list[int] = []
        self.append_rendered(opening, turn=-1)

    @classmethod
    def of(cls, sequence: TokenSequence) -> "SequenceBuilder":
        """Make a builder from a whole sequence, without features."""
        made = cls(Rendered([], []))
        names = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
        made._append(*(getattr(sequence, name).tolist() for name in names))
        return made

    def append_rendered(self, part: Rendered, *, turn: int) -> None:
        """Append ids rendered by a chat format: glue, and messages of users and tools."""
        if not TRAINED.isdisjoint(part.authors):
            raise ValueError("a chat format may not claim that the policy wrote its ids")
        zeros = [0.0] * len(part.ids)
        self._append(part.ids, part.authors, [turn] * len(part.ids), zeros, zeros, [-1] * len(part.ids))

    def append_sampled(self, completion: Completion, *, turn: int, forced: Collection[int] = ()) -> tuple[int, int]:
        """Append sampled tokens of the policy; returns their span [start, stop).

        Args:
            forced: positions among the ids of tokens that the policy did not draw here; they become FORCED.
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
        """Make an independent builder with the first `stop` ids."""
        made = SequenceBuilder(Rendered([], []))
        made._append(self.ids[:stop], self._author[:stop], self._turn[:stop], *self.span(0, stop)[1:])
        return made

    def span(self, start: int, stop: int) -> Partial:
        """Ids [start, stop) with log-probs and versions."""
        span = slice(start, stop)
        return Partial(self.ids[span], self._logp[span], self._behaviour_logp[span], self._version[span])

    def forced(self, start: int, stop: int) -> list[int]:
        """Positions of FORCED ids in [start, stop), relative to `start`."""
        return [place for place, author in enumerate(self._author[start:stop]) if author == FORCED]

    def build(self) -> TokenSequence:
        """Return the arrays of all ids so far."""
        return TokenSequence(
            ids=np.array(self.ids, np.int64 if max(self.ids, default=0) >= FIRST_IMAGE_ID else np.int32),
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


def extend_sequences(sequences: list[SequenceBuilder], part: Rendered, *, turn: int, context: int) -> bool:
    """Append the rendered reply to a turn to the last sequence, or begin a sequence with a fresh one.

    Args:
        sequences: of a rollout; grows if the reply is fresh.
        part: the reply.
        turn: number of the turn.
        context: most tokens of a sequence.

    Returns:
        False, with nothing appended, if the sequence would exceed the context.

    Example:
        a sequence of 10 ids, a reply of 3: True and 13 ids with a context of 13, False and 10 ids with one of 12
    """
    before = 0 if part.fresh else len(sequences[-1].ids)
    if before + len(part.ids) > context:
        return False
    if part.fresh:
        sequences.append(SequenceBuilder(part))
    else:
        sequences[-1].append_rendered(part, turn=turn)
    return True
