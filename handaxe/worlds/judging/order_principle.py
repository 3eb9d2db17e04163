"""Principles that order answers of two digits."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["BEST", "OrderPrinciple", "PRINCIPLES", "draw_response"]

BEST = 5
"""Highest digit, and highest score."""


class OrderPrinciple(NamedTuple):
    """Principle: one digit of an answer counts.

    place: digit that counts, 0 or 1. high: a higher digit is better.

    Example:
        OrderPrinciple(0, True).score("35") -> 3;  OrderPrinciple(0, False).score("35") -> 3;  of "51": 5 and 1

    Idea: opposite principles reverse the order of the same answers.
    """

    place: int
    high: bool

    def score(self, response: str) -> int:
        """Score of a response, 1 to 5."""
        digit = int(response[self.place])
        return digit if self.high else BEST + 1 - digit


PRINCIPLES: Mapping[str, OrderPrinciple] = MappingProxyType(
    {"hi 1st": OrderPrinciple(0, True), "lo 1st": OrderPrinciple(0, False), "hi 2nd": OrderPrinciple(1, True)}
)
"""Principles by their wording."""


def draw_response(rng: random.Random) -> str:
    """Draw two digits, 1 to 5.

    Example:
        "35"

    Idea: answers of two characters have a quality that a rule computes.
    """
    return "".join(str(rng.randint(1, BEST)) for _ in range(2))
