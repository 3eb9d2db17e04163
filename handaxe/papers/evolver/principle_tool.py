"""Tool with which a policy searches principles of earlier questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.papers.evolver.life_cycle import principle_line
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.tools.decorator import tool
from handaxe.worlds.world import World

__all__ = ["PrincipleMemory", "PrincipleSearch", "memory_of"]

SHOWN = 3
NOTHING = "none"


class PrincipleSearch:
    """State of a rollout: the principles that its searches have shown.

    Args:
        lines: of a query, best last, each with the principle that it shows; None for a line of no stored principle.

    Example:
        PrincipleSearch(lambda query: [("+ 0000 K: boss", "+ K: boss")]).principles("K:") == "+ 0000 K: boss"
    """

    def __init__(self, lines: Callable[[str], Sequence[tuple[str, str | None]]]):
        self._lines = lines
        self._used: list[str] = []

    @tool
    def principles(self, query: str) -> str:
        """Search principles of earlier questions."""
        found = self._lines(query)
        self._used += [text for _, text in found if text is not None and text not in self._used]
        return "\n".join(line for line, _ in found) or NOTHING

    def snapshot(self) -> list[str]:
        """Return a copy of the state."""
        return list(self._used)

    def restore(self, state: list[str]) -> None:
        """Restore a copy."""
        self._used = list(state)

    def report(self) -> Mapping[str, Any]:
        """Return the principles that the searches have shown."""
        return {"used": list(self._used)}


class PrincipleMemory:
    """Store of principles that all rollouts of a run search; as a tool it makes a `PrincipleSearch` for each rollout.

    Args:
        store: of principles; changes between steps.
        shown: principles of a search; 3 in the paper. The nearest one is the last line, as in `play_with_principles`.

    Example:
        a store with "+ K: boss ally": a search for "K:" replies "+ 0000 K: boss ally"

    Paper: arXiv:2510.16079 (EvolveR), the agent's action to search experience.
    Differs: a principle is a line of code and chain.
    """

    def __init__(self, store: PrincipleStore, *, shown: int = SHOWN):
        self.store = store
        self._shown = shown

    def __call__(self) -> PrincipleSearch:
        return PrincipleSearch(self._found)

    def _found(self, query: str) -> list[tuple[str, str | None]]:
        nearest = self.store.retrieve(query, k=self._shown)
        return [(principle_line(one.text), one.text) for one in reversed(nearest)]


def memory_of(world: World) -> PrincipleMemory:
    """Return the memory of a world.

    Raises:
        InputError: the world has none.
    """
    for one in world.tools:
        if isinstance(one, PrincipleMemory):
            return one
    raise InputError(f"world {world.name!r} has no memory of principles: choose --world principled_hops")
