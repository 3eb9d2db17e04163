"""Principles that order answers of two digits."""

from __future__ import annotations

import random
from typing import NamedTuple

__all__ = ["BEST", "OrderPrinciple", "draw_response"]

BEST = 5
"""Highest digit, and highest score."""


class OrderPrinciple(NamedTuple):
    """place: digit that counts, 0 or 1. high: a higher digit is better."""

    place: int
    high: bool

    def score(self, response: str) -> int:
        """Score of a response, 1 to 5."""
        digit = int(response[self.place])
        return digit if self.high else BEST + 1 - digit


def draw_response(rng: random.Random) -> str:
    """Draw two digits, 1 to 5.

    Example:
        "35"
    """
    return "".join(str(rng.randint(1, BEST)) for _ in range(2))
