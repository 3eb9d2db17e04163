"""Selectors one after the other."""

from collections.abc import Sequence
from typing import Any

from handaxe.records import Rated
from handaxe.slots import Selector, Stateful

__all__ = ["pipe"]


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


class _Pipe:
    def __init__(self, selectors: tuple[Selector, ...]):
        self._selectors = selectors

    def __call__(self, rated: Sequence[Rated]) -> list[Rated]:
        kept: Sequence[Rated] = list(rated)
        for select in self._selectors:
            kept = select(kept)
        return list(kept)

    def state_dict(self) -> dict[str, Any]:
        return {place: part.state_dict() for place, part in self._stateful().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for place, part in self._stateful().items():
            part.load_state_dict(state[place])

    def _stateful(self) -> dict[str, Stateful]:
        found: dict[str, Stateful] = {}
        for place, part in enumerate(self._selectors):
            if isinstance(part, Stateful):
                found[str(place)] = part
        return found
