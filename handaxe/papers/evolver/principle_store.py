"""Principles distilled from trajectories: merged, scored by use, and deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from handaxe.core.errors import InputError
from handaxe.ops.text_store import Embed, TextStore

__all__ = ["Principle", "PrincipleStore", "principle_score"]

MATCHED = 3
"""Stored principles that a new one is compared with."""


def principle_score(*, success: int, usage: int) -> float:
    """Compute the score of a principle, a success rate with two prior observations.

        score = (success + 1) / (usage + 2)

    Args:
        success: successful trajectories that used it.
        usage: trajectories that used it, >= success.

    Returns:
        Above 0 and below 1; 0.5 for a new principle.

    Raises:
        InputError: numbers that do not fit.

    Example:
        4 uses with 3 successes  ->  0.667;  3 uses without one  ->  0.2;  new  ->  0.5

    Paper: arXiv:2510.16079 (EvolveR), score of principles.
    Differs: nothing.
    """
    if not 0 <= success <= usage:
        raise InputError(f"a principle has at most as many successes as uses: {success} of {usage}")
    return (success + 1) / (usage + 2)


@dataclass(eq=False)
class Principle:
    """Text of a principle, its uses, their successes, and ids of its trajectories, the last ones."""

    text: str
    usage: int = 0
    success: int = 0
    trajectories: list[str] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Current score."""
        return principle_score(success=self.success, usage=self.usage)

    def use(self, success: bool) -> None:
        """Count a trajectory that used the principle."""
        self.usage += 1
        self.success += success


class PrincipleStore:
    """Store of principles with a life-cycle.

        offer     a new principle is compared with the 3 nearest ones. If a cosine is `least` or more and `same` agrees,
                  the stored one gets the trajectory and counts a use; otherwise the new one joins the store, unused
        retrieve  the principles nearest to a query
        prune     deletes principles with a score below `floor`

    Args:
        embed: vectors of texts.
        same: (text, text) -> the principles mean the same; default: equal texts. A language model in the paper.
        least: smallest cosine of a match; 0.85 in the paper. Above 1 nothing matches.
        floor: smallest score that is kept; 0.3 in the paper. 0 keeps all.
        linked: trajectories that a principle keeps; 3 in the paper.

    Example:
        store.offer("boss first", success=True, trajectory="t/0") adds it; the same again merges: usage 1, success 1

    Paper: arXiv:2510.16079 (EvolveR), its experience base; values of the released configuration.
    Differs: `same` is an argument.
    """

    def __init__(
        self,
        embed: Embed,
        *,
        same: Callable[[str, str], bool] | None = None,
        least: float = 0.85,
        floor: float = 0.3,
        linked: int = 3,
    ):
        self.principles: list[Principle] = []
        self._store = TextStore(embed)
        self._same = same or (lambda one, other: one == other)
        self._least = least
        self._floor = floor
        self._linked = linked

    def __len__(self) -> int:
        return len(self.principles)

    def offer(self, text: str, *, success: bool, trajectory: str) -> Principle:
        """Merge or add a principle; returns the stored one."""
        for near in self._store.nearest(text, k=MATCHED, least=self._least):
            found = self.principles[near.number]
            if self._same(text, found.text):
                found.use(success)
                break
        else:
            found = Principle(text)
            self.principles.append(found)
            self._store.add(text)
        if success:
            found.trajectories = [*found.trajectories, trajectory][-self._linked :]
        return found

    def retrieve(self, query: str, *, k: int = 3) -> list[Principle]:
        """Return the k principles nearest to a query, nearest first."""
        return [self.principles[one.number] for one in self._store.nearest(query, k=k)]

    def prune(self) -> list[Principle]:
        """Delete principles with low scores; returns them."""
        gone = [n for n, one in enumerate(self.principles) if one.score < self._floor]
        deleted = [self.principles[n] for n in gone]
        self.principles = [one for n, one in enumerate(self.principles) if n not in set(gone)]
        self._store.remove(gone)
        return deleted

    def replace(self, principles: Sequence[tuple[str, int, int, Sequence[str]]]) -> None:
        """Replace all principles, given as text, uses, successes and trajectories."""
        self._store.remove(range(len(self.principles)))
        self.principles = [Principle(text, usage, success, [*ids]) for text, usage, success, ids in principles]
        for one in self.principles:
            self._store.add(one.text)

    @property
    def scores(self) -> Sequence[float]:
        """Scores of all principles, in order of their addition."""
        return [one.score for one in self.principles]
