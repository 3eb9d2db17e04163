"""Prefix-aware routing: a request goes to the server with its longest cached prefix, unless the server is
overloaded. The load of a server counts its requests with their lengths.

Idea: the prefix-aware weighted balancing of resumed rollouts in AgentMath (arXiv:2512.20745).
Unconfirmed: the weights of requests.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

__all__ = ["PrefixRouter", "request_load"]

BLOCK = 16
"""Tokens a block, equal to vLLM's block size."""
MAX_BLOCKS = 2**17
"""Most blocks remembered."""
UNIT = 1024
"""Load of a request without a token, in tokens."""
MAX_IMBALANCE = 8
"""Highest load that a server may have above the least loaded server and still receive a request by its prefix, in
multiples of the request's load: siblings with a long common prompt stay together like those with a short one."""


def request_load(ids: Sequence[int]) -> int:
    """Load of a request, 1024 + length, in tokens: a request resumed with 2048 tokens counts as three new ones."""
    return UNIT + len(ids)


class PrefixRouter:
    """Maps each prefix block to the last server with a KV cache of the block.

    A block hash covers the block and all tokens before it, so that rows share a block if they share the prefix. The
    table is an estimate of the servers' caches: a wrong entry costs time, but changes no token.
    """

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, int] = OrderedDict()

    def choose(self, ids: Sequence[int], loads: Mapping[int, int]) -> int:
        """Choose a server for a sequence of ids.

        Args:
            loads: sum of `request_load` over the running requests of each server; at least one server.
        """
        least_loaded = min(loads, key=lambda server: (loads[server], server))
        for block in reversed(_block_hashes(ids)):
            server = self._blocks.get(block)
            if server is not None and server in loads:
                allowed = loads[least_loaded] + MAX_IMBALANCE * request_load(ids)
                return server if loads[server] <= allowed else least_loaded
        return least_loaded

    def learn(self, ids: Sequence[int], server: int) -> None:
        """Record that the server has a KV cache of these ids."""
        for block in _block_hashes(ids):
            self._blocks[block] = server
            self._blocks.move_to_end(block)
        while len(self._blocks) > MAX_BLOCKS:
            self._blocks.popitem(last=False)

    def clear(self) -> None:
        """Drop all entries, after the servers cleared their caches."""
        self._blocks.clear()


def _block_hashes(ids: Sequence[int]) -> list[int]:
    out = list[int]()
    previous = 0
    for start in range(0, len(ids) - BLOCK + 1, BLOCK):
        previous = hash((previous, *ids[start : start + BLOCK]))
        out.append(previous)
    return out
