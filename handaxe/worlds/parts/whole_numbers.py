"""Whole numbers of an answer or an argument, such as a point or a box."""

from __future__ import annotations

__all__ = ["whole_numbers"]

DIGITS = 3
"""Most digits of a number."""


def whole_numbers(text: str, count: int) -> tuple[int, ...] | None:
    """Parse numbers of at most three digits, separated by white space.

    Args:
        text: of a policy.
        count: of numbers.

    Returns:
        The numbers, or None for any other text.

    Example:
        ("96 160", 2) -> (96, 160);  ("96", 2), ("96 -1", 2) and ("9.6 1", 2) -> None
    """
    words = text.split()
    if len(words) != count or not all(one.isascii() and one.isdigit() and len(one) <= DIGITS for one in words):
        return None
    return tuple(map(int, words))
