"""Keep keys and values of what was read and sampled, so that a request that begins alike need not be read again.

A tree of stretches of tokens: what two rows share from their first token on is kept once, whichever row wrote it. Full,
it forgets what was used longest ago, the ends of rows before their beginnings.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from handaxe.core.errors import InputError

__all__ = ["KeptPrefix", "Prefixes", "common"]


class KeptPrefix(NamedTuple):
    """Keys and values of positions [0, length) of a row, one list of tensors for each stretch of it, in order."""

    length: int
    stretches: list[tuple[int, list[Tensor]]]
    """(where it starts, its tensors, tokens in the last but one axis)."""


@dataclass(eq=False)
class _Node:
    """A stretch of tokens after that of `parent`. Children differ in their first token."""

    parent: _Node | None
    ids: list[int]
    parts: list[Tensor]
    children: dict[int, _Node] = field(default_factory=dict)


class Prefixes:
    """The store of kept keys and values.

    Args:
        limit: most tokens kept; 0 keeps nothing.

    Attributes:
        tokens: kept now.
        evicted: tokens forgotten so far to stay within the limit.
    """

    def __init__(self, limit: int):
        if limit < 0:
            raise InputError(f"at most {limit} kept tokens make no sense; give 0 (keep nothing) or more")
        self.limit = limit
        self.tokens = self.evicted = 0
        self._root = _Node(None, [], [])
        self._order: OrderedDict[_Node, None] = OrderedDict()  # used longest ago first, a child before its parent

    def find(self, ids: Sequence[int]) -> KeptPrefix:
        """The longest beginning of `ids` that is kept, which thereby counts as used."""
        path, length = self._walk(ids)
        self._touch([node for node, _ in path])
        stretches, start = [], 0
        for node, matched in path:
            whole = matched == len(node.ids)
            stretches.append((start, node.parts if whole else [part[..., :matched, :] for part in node.parts]))
            start += matched
        return KeptPrefix(length, stretches)

    def length(self, ids: Sequence[int]) -> int:
        """How long a beginning of `ids` is kept."""
        return self._walk(ids)[1]

    def add(self, ids: Sequence[int], start: int, parts: list[Tensor]) -> None:
        """Keep the keys and values of positions [start, len(ids)); what comes before `start` is kept already. A row
        longer than the limit is kept as far as the limit goes.

        Raises:
            InputError: when `start` is not where what is kept of `ids` ends.
        """
        path, length = self._walk(ids)
        if start != length:
            raise InputError(f"{length} tokens of the row are kept, so what is added must start there, not at {start}")
        ids = list(ids[: self.limit])
        if start >= len(ids):
            return
        nodes = [node for node, _ in path]
        if path and path[-1][1] < len(nodes[-1].ids):
            nodes[-1] = self._split(nodes[-1], path[-1][1])
        self._touch(nodes)
        self._make_room(len(ids) - start)
        new, stop = ids[start:], len(ids) - start
        parent = nodes[-1] if nodes else self._root
        node = _Node(parent, new, [part if part.shape[-2] == stop else part[..., :stop, :].clone() for part in parts])
        parent.children[new[0]] = node
        self._order[node] = None
        self.tokens += len(new)
        self._touch([*nodes, node])

    def clear(self) -> None:
        """Forget everything; not counted as evicted."""
        self.tokens, self._root = 0, _Node(None, [], [])
        self._order.clear()

    def _walk(self, ids: Sequence[int]) -> tuple[list[tuple[_Node, int]], int]:
        """The nodes along which `ids` goes, with how many tokens of each match, and the sum of these."""
        path: list[tuple[_Node, int]] = []
        node, length = self._root, 0
        while length < len(ids) and (child := node.children.get(ids[length])) is not None:
            matched = common(child.ids, ids, length)
            path.append((child, matched))
            length += matched
            if matched < len(child.ids):
                break
            node = child
        return path, length

    def _touch(self, path: Sequence[_Node]) -> None:
        for node in reversed(path):
            self._order.move_to_end(node)

    def _split(self, node: _Node, at: int) -> _Node:
        """Cut a node in two; the first part, which keeps the parent. Copies, so that either can be freed alone."""
        assert node.parent is not None
        first = _Node(node.parent, node.ids[:at], [part[..., :at, :].clone() for part in node.parts])
        node.parent.children[first.ids[0]] = first
        node.parent = first
        node.ids = node.ids[at:]
        node.parts = [part[..., at:, :].clone() for part in node.parts]
        first.children[node.ids[0]] = node
        self._order[first] = None
        return first

    def _make_room(self, count: int) -> None:
        while self.tokens + count > self.limit:
            node, _ = self._order.popitem(last=False)
            assert node.parent is not None and not node.children
            del node.parent.children[node.ids[0]]
            self.tokens -= len(node.ids)
            self.evicted += len(node.ids)


def common(stretch: Sequence[int], ids: Sequence[int], start: int = 0) -> int:
    """How many tokens of `stretch` are those of `ids` from `start` on."""
    stop = min(len(stretch), len(ids) - start)
    if stretch[:stop] == ids[start : start + stop]:
        return stop
    low, high = 0, stop  # stretch[:low] is equal, stretch[:high] is not
    while high - low > 1:
        middle = (low + high) // 2
        if stretch[low:middle] == ids[start + low : start + middle]:
            low = middle
        else:
            high = middle
    return low
