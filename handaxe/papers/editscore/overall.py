"""Overall score of an edit from grades of two questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import sqrt

from handaxe.core.errors import InputError

__all__ = ["SCALE", "overall", "read_grades"]

SCALE = 10
"""Scores are 0 to 10."""
NUMBER = re.compile(r"\d{1,3}")


def overall(consistency: Sequence[float], quality: Sequence[float], *, best: int = 25) -> float:
    """Combine the grades of one pass.

        SC = min of the grades of the semantic question, PQ = min of those of the quality question, on 0 to 10
        O  = sqrt(SC * PQ)

    Args:
        consistency: grades of following the instruction and of keeping the rest, 0 to `best`.
        quality: grades of perceptual quality.
        best: highest grade, >= 1; 25 in the released code.

    Returns:
        0 to 10.

    Raises:
        InputError: no grade, or one off the scale.

    Example:
        grades 20 and 15, and 18, of 25  ->  SC 6, PQ 7.2, O 6.5727

    Paper: EditScore (paper 63), the released code's overall score.
    Differs: nothing.
    """
    if best < 1 or not (consistency and quality) or not all(0 <= one <= best for one in (*consistency, *quality)):
        raise InputError(f"grades are one or more of 0 to {best} for each question: {consistency} and {quality}")
    return sqrt(min(consistency) * min(quality)) * SCALE / best


def read_grades(text: str, *, count: int, best: int = 25) -> tuple[int, ...] | None:
    """Read exactly `count` whole numbers of a text; None if the text has another number of them, or one off the scale.

    Example:
        "20 15" with count 2  ->  (20, 15);  "20" and "20 150"  ->  None
    """
    found = tuple(int(one) for one in NUMBER.findall(text))
    return found if len(found) == count and all(one <= best for one in found) else None
