"""Prefix cache: a radix tree of the keys and values of read and sampled tokens.

Where KV caches are reused, and when they are dropped:

    reused    a request whose ids start with cached ids is prefilled from the first uncached id on
              (`engines.local.slot_admission.admit`): the next turn of a trajectory, a sibling, a fork
    evicted   the least recently used segment, leaves before their parents, if the tree holds more than `max_tokens`
    dropped   the whole tree, if the engine's version or weights change (`SlotStream.poll`), and on `SlotStream.close`

A prefix of two rows is stored once. Rows of `engines.local.static_batching` share a prefill, but no cache.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from handaxe.core.errors import InputError

__all__ = ["CachedPrefix", "PrefixCache", "common_length"]


class CachedPrefix(NamedTuple):
    """Keys and values of positions [0, length) of a row: one list of tensors for each segment, in order."""

    length: int
    segments: list[tuple[int, list[Tensor]]]
    """(start position, tensors with tokens in the last but one axis)."""


@dataclass(eq=False)
class _Node:
    """A segment of tokens after the segment of `parent`. Children differ in their first token."""

    parent: _Node | None
    ids: list[int]
    parts: list[Tensor]
    children: dict[int, _Node] = field(default_factory=dict)


class PrefixCache:
    """LRU cache of keys and values, shared by all rows of a stream.

    Args:
        max_tokens: capacity in tokens; 0 disables the cache.

    Attributes:
        tokens: cached tokens.
        evicted: tokens evicted so far.
    """

    def __init__(self, max_tokens: int):
        if max_tokens < 0:
            raise InputError(f"a prefix cache of {max_tokens} tokens makes no sense; give 0 (no cache) or more")
        self.max_tokens = max_tokens
        self.tokens = self.evicted = 0
        self._root = _Node(None, [], [])
        self._order: OrderedDict[_Node, None] = OrderedDict()  # least recently used first, a child before its parent

    def find(self, ids: Sequence[int]) -> CachedPrefix:
        """The longest cached prefix of `ids`, marked as most recently used."""
        path, length = self._walk(ids)
        self._touch([node for node, _ in path])
        segments, start = [], 0
        for node, matched in path:
            complete = matched == len(node.ids)
            segments.append((start, node.parts if complete else [part[..., :matched, :] for part in node.parts]))
            start += matched
        return CachedPrefix(length, segments)

    def length(self, ids: Sequence[int]) -> int:
        """Return the length of the longest cached prefix of `ids`, without marking it as used."""
        return self._walk(ids)[1]

    def add(self, ids: Sequence[int], start: int, parts: list[Tensor]) -> None:
        """Cache the keys and values of positions [start, len(ids)); positions before `start` are cached already. A row
        longer than the capacity is cached up to the capacity.

        Raises:
            InputError: `start` is not the length of the cached prefix of `ids`.
        """
        path, length = self._walk(ids)
        if start != length:
            raise InputError(f"{length} tokens of the row are cached; add keys and values from there, not from {start}")
        ids = list(ids[: self.max_tokens])
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
        """Drop everything; dropped tokens do not count as evicted."""
        self.tokens, self._root = 0, _Node(None, [], [])
        self._order.clear()

    def _walk(self, ids: Sequence[int]) -> tuple[list[tuple[_Node, int]], int]:
        """Find the path of nodes for a prefix of `ids`; return the number of matching tokens of each node, and their
        sum."""
        path: list[tuple[_Node, int]] = []
        node, length = self._root, 0
        while length < len(ids) and (child := node.children.get(ids[length])) is not None:
            matched = common_length(child.ids, ids, length)
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
        """Split a node in two and return the first part. Copied tensors allow freeing each part separately."""
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
        while self.tokens + count > self.max_tokens:
            node, _ = self._order.popitem(last=False)
            assert node.parent is not None and not node.children
            del node.parent.children[node.ids[0]]
            self.tokens -= len(node.ids)
            self.evicted += len(node.ids)


def common_length(segment: Sequence[int], ids: Sequence[int], start: int = 0) -> int:
    """Length of the common prefix of `segment` and `ids[start:]`."""
    stop = min(len(segment), len(ids) - start)
    if segment[:stop] == ids[start : start + stop]:
        return stop
    low, high = 0, stop  # segment[:low] is equal, segment[:high] is not
    while high - low > 1:
        middle = (low + high) // 2
        if segment[low:middle] == ids[start + low : start + middle]:
            low = middle
        else:
            high = middle
    return low
