"""Dispatcher: routes a question to the tool of its kind, or to the tool maker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["dispatch", "word_overlap"]

THRESHOLD = 0.5
"""Least overlap of a known kind."""


def dispatch(question: str, known: Mapping[str, Sequence[str]], *, threshold: float = THRESHOLD) -> str | None:
    """Find the kind of a question by its nearest stored question.

    Args:
        question: of a stream of mixed kinds.
        known: stored questions of each kind.
        threshold: least overlap, 0 to 1.

    Returns:
        Name of the kind; None for a new kind, which goes to the tool maker.

    Example:
        "gcd of 3, 4" with the stored "gcd of 8, 12" has the overlap 1; "spell cat" has 0, and is new

    Paper: arXiv:2305.17126 (LATM), the dispatcher of a stream of tasks.
    Differs: the overlap of words, where the paper asks a language model.
    """
    overlaps = {name: max(word_overlap(question, one) for one in own) for name, own in known.items() if own}
    best = max(overlaps, key=lambda name: overlaps[name], default=None)
    return best if best is not None and overlaps[best] >= threshold else None


def word_overlap(one: str, other: str) -> float:
    """Compute the Jaccard index of the sets of words without digits and quoted texts.

        |A and B| / |A or B|;   0 for two empty sets

    Example:
        "sort a b" and "sort a c"  ->  2 / 4 = 0.5
    """
    own, their = _words(one), _words(other)
    return len(own & their) / max(len(own | their), 1)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r'"[^"]*"', "", text).lower()))
