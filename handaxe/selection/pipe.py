"""Selectors one after the other."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from handaxe.core.protocols import Selector
from handaxe.core.records import Rated
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["Staged", "pipe"]


@runtime_checkable
class Staged(Protocol):
    """A selector that is made of others, called in order, and says so."""

    def stages(self) -> Sequence[Selector]:
        """What it passes groups through."""
        ...


def pipe(*selectors: Selector) -> Selector:
    """Pass groups through selectors, in order.

        pipe(f, g)(rated) = g(f(rated))

    Order is part of the choice: a selector sees what those before it left.

    Returns:
        A selector. It is Stateful, and its state is that of its stateful parts by their place. Without parts it keeps
        everything.

    Example:
        pipe(void_turns(answer=...), drop_equal_groups()): first masks trajectories, then drops groups by the rewards
        of all siblings, masked ones included

    Idea: each selection is one file; a recipe lists those it wants.
    """
    return _Pipe(selectors)


class _Pipe(StatefulComposite):
    def __init__(self, selectors: tuple[Selector, ...]):
        self._selectors = selectors

    def __call__(self, rated: Sequence[Rated]) -> list[Rated]:
        kept: Sequence[Rated] = list(rated)
        for select in self._selectors:
            kept = select(kept)
        return list(kept)

    def stages(self) -> Sequence[Selector]:
        return self._selectors

    def parts(self) -> Mapping[str, object]:
        return {str(place): part for place, part in enumerate(self._selectors)}
