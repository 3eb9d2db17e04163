"""Say in code, not only in prose, which shape an array must have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["check_shapes"]


def check_shapes(array: Any, shape: Sequence[int | None], name: str = "the array") -> None:
    """Require the shape of a numpy array or torch tensor.

    Args:
        array: anything with a `shape`.
        shape: the wanted size of each axis; None allows any size.
        name: what the message calls the array.

    Raises:
        InputError: with the shape that was wanted and the one that was found.

    Example:
        check_shapes(scores.outcome, [len(group)], "outcome")
    """
    found = tuple(int(size) for size in array.shape)
    fits = len(found) == len(shape) and all(want is None or want == size for want, size in zip(shape, found))
    if not fits:
        wanted = ", ".join("any" if want is None else str(int(want)) for want in shape)
        raise InputError(f"{name} must have shape [{wanted}], but has [{', '.join(map(str, found))}]")
