"""Selectors in sequence."""

from collections.abc import Mapping, Sequence

from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.selection.parts.dispositions import apply_selector, live

__all__ = ["pipe"]


def pipe(*selectors: Selector) -> Selector:
    """Pass groups through selectors, in order.

        pipe(f, g)(rated) = g(f(rated))

    Each selector gets the live groups of the previous one, so order matters.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the live groups of the last selector, then all dropped groups. It is
        Stateful; its state is the state of stateful selectors by position. Without selectors it keeps all groups.

    Example:
        pipe(mask_empty_turns(), drop_equal_groups()): masks rollouts first, then drops groups by the rewards of all
        siblings, masked ones included

    Idea: each selector is one file; a method lists its selectors.
    """
    return _Pipe(selectors)


class _Pipe(StatefulComposite):
    def __init__(self, selectors: tuple[Selector, ...]):
        self._selectors = selectors

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        found, dropped = live(rated), [one for one in rated if not one.live]
        for select in self._selectors:
            result = apply_selector(select, found)
            found = live(result)
            dropped += [one for one in result if not one.live]
        return found + dropped

    def stages(self) -> Sequence[Selector]:
        return self._selectors

    def parts(self) -> Mapping[str, object]:
        return {str(place): part for place, part in enumerate(self._selectors)}
