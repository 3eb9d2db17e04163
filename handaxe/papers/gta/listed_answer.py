"""Scores an answer by lists of words that it must and must not contain."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["listed_answer"]


def listed_answer(text: str, whitelist: Sequence[Sequence[str]], blacklist: Sequence[str] = ()) -> float:
    """Return 1 if the text has an alias of every group of the whitelist and none of the blacklist, else 0.

    An alias counts as a whole word or phrase, in any case.

    Args:
        text: the answer.
        whitelist: groups of aliases.
        blacklist: aliases that must not occur.

    Example:
        "8 kilometres" and [["8"], ["km", "kilometres"]] -> 1;  "18 km" -> 0

    Paper: arXiv:2407.08713 (GTA), the answer accuracy of objective queries; from its released code.
    Differs: nothing.
    """
    found = all(any(_contains(text, alias) for alias in group) for group in whitelist)
    return float(found and not any(_contains(text, alias) for alias in blacklist))


def _contains(text: str, alias: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(alias)}(?!\w)", text, flags=re.IGNORECASE) is not None
