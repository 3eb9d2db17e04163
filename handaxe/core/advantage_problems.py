"""Form of advantages: shapes, types, finite values, and zeros off the mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from handaxe.core.records import Advantages, Group

__all__ = ["advantage_problems"]


def advantage_problems(advantages: Any, group: Group) -> Iterator[str]:
    """Yield each broken rule, with the trajectory: one float64 [T] for each sequence, finite, 0 off the mask.

    `returns`, `channels` and `trains` (bool [T]) are checked too.

    Example:
        list(advantage_problems(None, group)) -> ["the result is a NoneType, not Advantages"]
    """
    if not isinstance(advantages, Advantages):
        yield f"the result is a {type(advantages).__name__}, not Advantages"
        return
    named = {f"channel {name}": ragged for name, ragged in advantages.channels.items()}
    for name, ragged in {"tokens": advantages.tokens, "returns": advantages.returns, **named}.items():
        if ragged is not None:
            yield from _ragged(name, ragged, group)
    if advantages.trains is None:
        return
    if len(advantages.trains) != len(group):
        yield f"trains has {len(advantages.trains)} entries for {len(group)} siblings"
        return
    for one, arrays in zip(group, advantages.trains, strict=True):
        found = [(np.shape(array), str(np.asarray(array).dtype)) for array in arrays]
        if found != [((len(s),), "bool") for s in one.sequences]:
            yield f"trains of {one.id!r} is {found}, not [T] bool"


def _ragged(name: str, ragged: Sequence[Sequence[np.ndarray]], group: Group) -> Iterator[str]:
    if len(ragged) != len(group):
        yield f"{name} has {len(ragged)} entries for {len(group)} siblings"
        return
    for one, arrays in zip(group, ragged, strict=True):
        shapes = [np.shape(array) for array in arrays]
        if shapes != [(len(s),) for s in one.sequences]:
            yield f"{name} of {one.id!r} has shapes {shapes}"
            continue
        for sequence, array in zip(one.sequences, map(np.asarray, arrays), strict=True):
            if array.dtype != np.float64:
                yield f"{name} of {one.id!r} is {array.dtype}, not float64"
            elif not np.all(np.isfinite(array)):
                yield f"{name} of {one.id!r} is not finite"
            elif np.any(array[~sequence.mask]):
                yield f"{name} of {one.id!r} is not 0 off the mask"
