"""Shape checks of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["check_shapes"]


def check_shapes(array: Any, shape: Sequence[int | None], name: str = "the array") -> None:
    """Check the shape of a numpy array or torch tensor.

    Args:
        array: any object with a `shape`.
        shape: expected size of each axis; None allows any size.
        name: name of the array in the message.

    Raises:
        InputError: the shape differs; the message has the expected and the actual shape.

    Example:
        check_shapes(scores.outcome, [len(group)], "outcome")
    """
    actual = tuple(int(size) for size in array.shape)
    matches = len(actual) == len(shape) and all(want is None or want == size for want, size in zip(shape, actual))
    if not matches:
        expected = ", ".join("any" if want is None else str(int(want)) for want in shape)
        raise InputError(f"{name} must have shape [{expected}], but has [{', '.join(map(str, actual))}]")
