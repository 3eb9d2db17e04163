"""Majority vote over sampled answers."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Vote", "majority"]


class Vote(NamedTuple):
    """The most frequent answer, and the share of equal answers."""

    answer: str
    share: float


def majority(answers: Sequence[str]) -> Vote:
    """Return the most frequent answer.

    Args:
        answers: normalised so that equal answers are equal texts; "" is no answer: it counts in the total and never
            wins.

    Returns:
        The first in text order of equally frequent answers, independent of their order here; "" with share 0 if there
        is no answer.

    Example:
        "7", "9", "7", "", "8"  ->  "7", share 0.4
    """
    counts = Counter(one for one in answers if one)
    if not counts:
        return Vote("", 0.0)
    answer = min(counts, key=lambda one: (-counts[one], one))
    return Vote(answer, counts[answer] / len(answers))
