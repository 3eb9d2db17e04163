"""Where a request goes: to the server that has most of its ids, unless that one has more to do than others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

__all__ = ["PrefixRouter"]

BLOCK = 16
"""Tokens that are compared at a time, which is what vLLM keeps at a time."""
KEPT = 2**17
"""Most blocks that are remembered."""
AHEAD = 8
"""Requests by which a server may be ahead of the idlest and still get one whose prefix it has."""


class PrefixRouter:
    """Remember which server read which ids last.

    A block stands for itself and all before it, so two rows share a block when they begin alike. What is remembered is
    a guess at what a server still has; a wrong one costs time and changes nothing.
    """

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, int] = OrderedDict()

    def choose(self, ids: Sequence[int], loads: Mapping[int, int]) -> int:
        """The server for these ids.

        Args:
            loads: requests at work on each server; at least one server.
        """
        idlest = min(loads, key=lambda server: (loads[server], server))
        for block in reversed(_blocks(ids)):
            server = self._blocks.get(block)
            if server is not None and server in loads:
                return server if loads[server] <= loads[idlest] + AHEAD else idlest
        return idlest

    def learn(self, ids: Sequence[int], server: int) -> None:
        """The server has these ids now."""
        for block in _blocks(ids):
            self._blocks[block] = server
            self._blocks.move_to_end(block)
        while len(self._blocks) > KEPT:
            self._blocks.popitem(last=False)

    def forget(self) -> None:
        """No server has anything any more."""
        self._blocks.clear()


def _blocks(ids: Sequence[int]) -> list[int]:
    out = list[int]()
    before = 0
    for start in range(0, len(ids) - BLOCK + 1, BLOCK):
        before = hash((before, *ids[start : start + BLOCK]))
        out.append(before)
    return out
