"""Memory of explored actions, and the choice of the least explored one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from handaxe.core.errors import InputError

__all__ = ["ExplorationMemory"]


class ExplorationMemory:
    """Counts of the actions of all rollouts of an exploration.

        choose: argmin over candidates of count(a), ties at random      with curiosity
                uniform over candidates                                 without

    Args:
        curious: False ignores the counts.

    Example:
        counts {a: 1, b: 1}, candidates a, b, c -> c

    Paper: arXiv:2512.01311 (CuES), exploration that avoids actions in the environment memory.
    Unconfirmed: the choice among actions, which the paper leaves to a language model that reads a summary.
    Differs: counts instead of a summary in words.
    """

    def __init__(self, *, curious: bool = True):
        self.counts: Counter[str] = Counter()
        self._curious = curious

    def choose(self, candidates: Sequence[str], rng: random.Random) -> str:
        """Choose an action, and count it.

        Raises:
            InputError: no candidate.
        """
        if not candidates:
            raise InputError("there is no action to choose from; the exploration needs names and concepts")
        least = min(self.counts[one] for one in candidates)
        open_ = [one for one in candidates if self.counts[one] == least] if self._curious else list(candidates)
        chosen = rng.choice(open_)
        self.counts[chosen] += 1
        return chosen

    @property
    def distinct(self) -> float:
        """Distinct actions / actions; 1 without any."""
        return len(self.counts) / self.counts.total() if self.counts else 1.0
