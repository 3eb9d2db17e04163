"""How a batch is read: its rows as token trees, several trees to a pack, or simply as padded rows.

Legend: B rows, T tokens, N tokens computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.model_api import Model, TreeModel
from handaxe.ops.trees import Forest, Pack, forest, make_pack

__all__ = ["Layout", "Packing", "balance", "lay_out", "padded", "read", "sibling_order"]

Packing = Literal["tree", "rows"]


class Layout(NamedTuple):
    """Which tokens are computed for a batch.

    packs: read one after another; none when the rows are read as they are.
    node_BT: int64, where among all computed tokens each token of a row stands; -1 on padding.
    tokens: of the rows, without padding. computed: tokens that the model reads, padding included.
    """

    packs: tuple[Pack, ...]
    node_BT: Tensor
    tokens: int
    computed: int

    @property
    def wasted(self) -> float:
        """The share of what is computed that is padding; 0 for trees."""
        return 1.0 - len(self.node_BT[self.node_BT >= 0].unique()) / max(self.computed, 1)

    @property
    def saved(self) -> float:
        """The share of the rows' tokens that need not be computed, because they are computed for another row; below 0
        when padding outweighs it."""
        return 1.0 - self.computed / max(self.tokens, 1)


def padded(batch: Batch) -> Layout:
    """Read the rows as they are."""
    place_BT = torch.arange(batch.ids_BT.numel(), device=batch.ids_BT.device).view(batch.ids_BT.shape)
    node_BT = torch.where(batch.attend_BT, place_BT, -1)
    return Layout((), node_BT, int(batch.attend_BT.sum()), batch.ids_BT.numel())


def lay_out(batch: Batch, *, pack_tokens: int, width: int) -> Layout:
    """Merge the rows into trees and spread these over packs of about equal cost.

    Args:
        batch: on the device of the model.
        pack_tokens: most tokens of a pack; a larger tree is a pack of its own.
        width: hidden size of the model, to weigh attention against everything else.
    """
    trees = forest(_rows(batch))
    sizes = trees.stops_R - trees.roots_R
    packs = balance(sizes, _costs(trees, width), pack_tokens)
    start_R = np.zeros(len(sizes), np.int64)
    order = [tree for pack in packs for tree in pack]
    start_R[order] = np.cumsum([0, *sizes[order]])[:-1]
    moved_N = np.repeat(start_R - trees.roots_R, sizes) + np.arange(len(trees.ids_N))
    node_BT = np.full(batch.ids_BT.shape, -1)
    node_BT[:, : trees.node_BT.shape[1]] = np.where(trees.node_BT >= 0, np.append(moved_N, -1)[trees.node_BT], -1)
    device = batch.ids_BT.device
    return Layout(
        packs=tuple(make_pack(trees, pack, device) for pack in packs),
        node_BT=torch.from_numpy(node_BT).to(device),
        tokens=int((node_BT >= 0).sum()),
        computed=len(trees.ids_N),
    )


def _costs(trees: Forest, width: int) -> np.ndarray:
    """Of each tree, in pairs of tokens that attend each other: a token's layers cost as much as 6 * width pairs."""
    each_N = trees.depth_N + 1 + 6 * width
    return np.add.reduceat(each_N, trees.roots_R) if len(trees.roots_R) else np.zeros(0)


def balance(sizes: Sequence[int] | np.ndarray, costs: Sequence[float] | np.ndarray, most: int) -> list[list[int]]:
    """Put things into packs: the dearest first, each into the cheapest pack with room for it.

    Args:
        sizes: what counts against `most`.
        costs: what should be about equal in all packs.

    Returns:
        As few packs as the sizes alone would need, or more where they do not fit; each lists indices in order.

    Example:
        sizes 5 4 3 2 with the same costs, most 8  ->  [[0, 3], [1, 2]]
    """
    packs: list[list[int]] = [[] for _ in range(-(-int(np.sum(sizes)) // most))]
    full, dear = [0] * len(packs), [0.0] * len(packs)
    for one in sorted(range(len(sizes)), key=lambda index: (-costs[index], index)):
        room = [pack for pack in range(len(packs)) if not packs[pack] or full[pack] + sizes[one] <= most]
        if not room:
            packs = [*packs, []]
            full = [*full, 0]
            dear = [*dear, 0.0]
            room = [len(packs) - 1]
        pack = min(room, key=lambda pack: dear[pack])
        packs[pack].append(one)
        full[pack] += int(sizes[one])
        dear[pack] += float(costs[one])
    return [sorted(pack) for pack in packs if pack]


def sibling_order(batch: Batch) -> Tensor:
    """Rows in an order in which those that begin alike stand together."""
    keys = [row.astype(">i8").tobytes() for row in _rows(batch)]
    return torch.tensor(sorted(range(len(keys)), key=keys.__getitem__), dtype=torch.int64)


def _rows(batch: Batch) -> list[np.ndarray]:
    length_B = batch.attend_BT.sum(1).tolist()
    return [row[:length] for row, length in zip(batch.ids_BT.cpu().numpy(), length_B)]


def read(model: Model, batch: Batch, layout: Layout) -> Tensor:
    """Hidden states [N, D] of everything that the layout computes.

    Raises:
        InputError: for rows longer than the model's context.
    """
    longest = int(batch.attend_BT.sum(1).max()) if len(batch) else 0
    if longest > model.max_length:
        raise InputError(f"the batch has rows of {longest} tokens, the model reads {model.max_length}")
    if layout.packs:
        assert isinstance(model, TreeModel)
        return torch.cat([model.hidden_tree(pack) for pack in layout.packs])
    ids_BT = torch.where(batch.attend_BT, batch.ids_BT, 0)  # a pad id may lie outside the vocabulary
    return model.hidden(ids_BT, batch.attend_BT).flatten(0, 1)
