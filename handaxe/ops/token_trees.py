"""Prefix trees of token rows: each distinct prefix is a node, so that shared prefixes are computed once.

Legend: N tokens of the trees, B rows, T tokens of a row. Tokens are in depth-first order: a token comes after all of
its ancestors, and its subtree is the range from the token to `last`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.images import Image
from handaxe.ops.tree_attention import KeyBlock, attention_blocks

__all__ = ["Forest", "Pack", "build_forest", "make_pack"]


class Forest(NamedTuple):
    """Token trees in one numbering; int64 arrays.

    ids_N     token id
    before_N  id of the parent; -1 for a root
    depth_N   position: the number of ancestors
    last_N    last token of the subtree; a is n or an ancestor of n if a <= n <= last[a]
    node_BT   tree token of each token of a row; -1 on padding
    roots_R   first token of each tree
    """

    ids_N: np.ndarray
    before_N: np.ndarray
    depth_N: np.ndarray
    last_N: np.ndarray
    node_BT: np.ndarray
    roots_R: np.ndarray

    @property
    def stops_R(self) -> np.ndarray:
        """Return the end of each tree, exclusive."""
        return np.append(self.roots_R[1:], len(self.ids_N)) if len(self.roots_R) else self.roots_R


def build_forest(rows: Sequence[np.ndarray]) -> Forest:
    """Merge rows into trees: rows share the tokens of their common prefix.

    Args:
        rows: [T] int64 ids each, of any length; equal rows, prefixes of other rows and empty rows are allowed.

    Returns:
        Trees that do not depend on the order of the rows, except through `node_BT`.

    Example:
        rows 5 6 7 / 5 6 8 9 / 5 6  ->  ids 5 6 7 8 9, depth 0 1 2 2 3, last 4 4 2 4 4, before -1 5 6 6 8,
        node_BT 0 1 2 -1 / 0 1 3 4 / 0 1 -1 -1
    """
    # Big-endian bytes of non-negative numbers sort like the numbers, a prefix before its extensions.
    order = sorted(range(len(rows)), key=lambda row: rows[row].astype(">i8").tobytes())
    total = sum(len(row) for row in rows)
    ids_N, before_N, depth_N, last_N = (np.empty(total, np.int64) for _ in range(4))
    node_BT = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int64)
    count = 0
    roots = []
    previous = None
    for row in order:
        ids, node = rows[row], node_BT[row]
        shared = 0 if previous is None else _shared(rows[previous], ids)
        if previous is not None:
            node[:shared] = node_BT[previous, :shared]
        new = slice(count, count + len(ids) - shared)
        node[shared : len(ids)] = np.arange(new.start, new.stop)
        ids_N[new], depth_N[new] = ids[shared:], np.arange(shared, len(ids))
        before_N[new] = np.append(-1, ids)[shared:-1]
        if len(ids):
            roots += [count] if not shared else []
            count, previous = new.stop, row
            last_N[node[: len(ids)]] = count - 1
    return Forest(ids_N[:count], before_N[:count], depth_N[:count], last_N[:count], node_BT, np.array(roots, np.int64))


def _shared(one: np.ndarray, other: np.ndarray) -> int:
    """Count the tokens of the common prefix of two rows."""
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length


@dataclass(frozen=True, eq=False)
class Pack:
    """Trees in a single row of N tokens; a token attends to its ancestors and itself.

    ids_N, before_N (-1 for a root) and depth_N are int64 tensors on the model's device, last_N [N] an array; see
    `Forest`. `images` has those of the image tokens, and possibly others.
    """

    ids_N: Tensor
    before_N: Tensor
    depth_N: Tensor
    last_N: np.ndarray
    images: tuple[Image, ...] = ()

    def __len__(self) -> int:
        return len(self.last_N)

    @cached_property
    def spans(self) -> tuple[KeyBlock, ...]:
        """Make the blocks of `ops.tree_attention`."""
        return attention_blocks(self.last_N, self.depth_N.cpu().numpy(), self.ids_N.device)

    @cached_property
    def attend_NN(self) -> Tensor:
        """Make the dense mask, bool: True if the row's token attends to the column's."""
        last_N = torch.from_numpy(self.last_N).to(self.ids_N.device)
        place_N = torch.arange(len(self), device=self.ids_N.device)
        return (place_N[:, None] >= place_N) & (place_N[:, None] <= last_N)


def make_pack(trees: Forest, chosen: Sequence[int], device: torch.device) -> Pack:
    """Pack the chosen trees of a forest, in the given order."""
    starts, stops = trees.roots_R, trees.stops_R
    index_N = np.concatenate([np.arange(starts[tree], stops[tree]) for tree in chosen])
    begins = np.cumsum([0] + [stops[tree] - starts[tree] for tree in chosen])
    moved_N = np.concatenate(
        [np.full(stops[tree] - starts[tree], begin - starts[tree]) for tree, begin in zip(chosen, begins)]
    )

    def on_device(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array[index_N]).to(device)

    return Pack(
        on_device(trees.ids_N),
        on_device(trees.before_N),
        on_device(trees.depth_N),
        trees.last_N[index_N] + moved_N,
    )
