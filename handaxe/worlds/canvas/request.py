"""Requests for a drawing, in words and as clauses, and the fidelity of a drawing to a request.

Idea: images whose objects are known by construction are scored without a model, as in the compositional checks of
text-to-image benchmarks (counts, colours, places).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from handaxe.core.images import Image
from handaxe.worlds.canvas.drawing import CELLS, Item, Items

__all__ = ["ItemClause", "clause_words", "differing_cells", "fidelity", "similarity"]


class ItemClause(NamedTuple):
    """Equal objects. number: how many; left, top: in units, for a single object; None for any place."""

    number: int
    colour: str
    shape: str
    left: int | None = None
    top: int | None = None

    @property
    def words(self) -> str:
        """The clause in words, such as "red disc at 2 4" or "2 blue rings"."""
        if self.left is not None:
            return f"{self.colour} {self.shape} at {self.left} {self.top}"
        return f"{self.number} {self.colour} {self.shape}{'s' if self.number > 1 else ''}"


def clause_words(clauses: Sequence[ItemClause]) -> str:
    """Write clauses in words.

    Example:
        "red disc at 2 4, 2 blue rings"
    """
    return ", ".join(clause.words for clause in clauses)


def fidelity(items: Items, clauses: Sequence[ItemClause]) -> float:
    """Agreement of a drawing with a request, 0 to 1; 1 if and only if the drawing has the objects of the request alone.

        F = max over assignments of sum_i a(wanted_i, item_i) / max(number wanted, number drawn)

    a is the share of equal attributes: colour, shape, and the place (left and top together) if the request states one.
    A clause of number n wants n objects.

    Returns:
        1.0 for an empty drawing of an empty request.

    Example:
        wanted a red disc at 2 4; drawn a blue disc at 2 4  ->  2/3; drawn twice, the second time elsewhere  ->  1/3
    """
    wanted = [clause for clause in clauses for _ in range(clause.number)]
    most = max(len(wanted), len(items))
    if not most:
        return 1.0
    if not wanted or not items:
        return 0.0
    share = np.array([[_share(clause, item) for item in items] for clause in wanted])
    return float(share[linear_sum_assignment(share, maximize=True)].sum() / most)


def similarity(first: Image, second: Image) -> float:
    """Similarity of two images of one size, 0 to 1.

        s = 1 - mean over pixels and channels of |a - b| / 255

    Example:
        white against black 0, an image against itself 1
    """
    return float(1 - np.abs(first.pixels.astype(np.float64) - second.pixels).mean() / 255)


def differing_cells(first: Image, second: Image) -> list[tuple[int, int]]:
    """Cells of 2 by 2 units with any different pixel, in two square images of one size, in reading order."""
    cell = first.width // 4
    differs = (first.pixels != second.pixels).any(-1)
    blocks = differs.reshape(4, cell, 4, cell).any((1, 3))
    return [place for place in CELLS if blocks[place[1] // 2, place[0] // 2]]


def _share(clause: ItemClause, item: Item) -> float:
    equal = [clause.colour == item.colour, clause.shape == item.shape]
    if clause.left is not None:
        equal.append((clause.left, clause.top) == (item.left, item.top))
    return sum(equal) / len(equal)
