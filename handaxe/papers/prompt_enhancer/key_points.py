"""Key points of a request for an image, by category, and which of them an image meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.worlds.canvas.drawing import Item, Items

__all__ = ["CATEGORIES", "KeyPoint", "meets_point"]

CATEGORIES = ("object", "count", "relation", "negation")
RELATIONS: Mapping[str, tuple[int, int]] = {"left of": (1, 0), "above": (0, 1)}
"""Relation -> direction, in x and y, from the first object to the second."""


class KeyPoint(NamedTuple):
    """A requirement of a request.

    category  of CATEGORIES
    items     "COLOUR SHAPE" of the objects; for a negation a colour
    number    of equal objects, for a count
    relation  of the first object to the second, of RELATIONS
    """

    category: str
    items: tuple[str, ...]
    number: int = 1
    relation: str = ""


def meets_point(point: KeyPoint, drawn: Items) -> bool:
    """Whether a drawing meets a key point.

    Args:
        point: object, one of this colour and shape or more; count, exactly `number`; relation, a pair of objects with
            the relation; negation, no object of the colour.
        drawn: objects of the drawing.

    Raises:
        InputError: an unknown category.

    Example:
        drawn: red discs at 0 0 and 4 0. "2 red discs" met; "red disc left of red disc" met; "no blue" met;
        "red ring" not met

    Paper: arXiv:2509.04545 (PromptEnhancer), AlignEvaluator, which scores 24 fine-grained key points.
    Differs: four categories, decided by rule from the known objects.
    """
    if point.category == "negation":
        return all(one.colour != point.items[0] for one in drawn)
    if point.category == "count":
        return len(_of(point.items[0], drawn)) == point.number
    if point.category == "object":
        return bool(_of(point.items[0], drawn))
    if point.category == "relation":
        x, y = RELATIONS[point.relation]
        first, second = (_of(name, drawn) for name in point.items)
        return any(x * (b.left - a.left) + y * (b.top - a.top) > 0 for a in first for b in second)
    raise InputError(f"a key point has the category {point.category!r}; give one of {', '.join(CATEGORIES)}")


def _of(name: str, drawn: Items) -> Sequence[Item]:
    return [one for one in drawn if f"{one.colour} {one.shape}" == name]
