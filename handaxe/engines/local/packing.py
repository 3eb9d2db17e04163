"""Batch layouts: padded rows, or token trees packed several to a forward pass.

Legend: B rows, T tokens, N computed tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.images import Image, is_image_id
from handaxe.core.model_api import Model, TreeModel, VisionModel
from handaxe.ops.token_trees import Forest, Pack, build_forest, make_pack

__all__ = ["Layout", "Packing", "balance", "hidden_states", "padded_layout", "sibling_order", "tree_layout"]

Packing = Literal["tree", "rows"]


class Layout(NamedTuple):
    """Mapping of a batch's tokens to computed tokens.

    packs: packs of trees, read one after another; empty for padded rows.
    node_BT: int64, index among the computed tokens of each token of a row; -1 on padding.
    tokens: tokens of the rows, without padding. computed: tokens that the model reads, with padding.
    """

    packs: tuple[Pack, ...]
    node_BT: Tensor
    tokens: int
    computed: int

    @property
    def wasted(self) -> float:
        """Share of padding among the computed tokens; 0 for trees."""
        return 1.0 - len(self.node_BT[self.node_BT >= 0].unique()) / max(self.computed, 1)

    @property
    def saved(self) -> float:
        """Share of the rows' tokens that are computed for another row already; negative if padding outweighs
        sharing."""
        return 1.0 - self.computed / max(self.tokens, 1)


def padded_layout(batch: Batch) -> Layout:
    """Layout of padded rows."""
    index_BT = torch.arange(batch.ids_BT.numel(), device=batch.ids_BT.device).view(batch.ids_BT.shape)
    node_BT = torch.where(batch.attend_BT, index_BT, -1)
    return Layout((), node_BT, int(batch.attend_BT.sum()), batch.ids_BT.numel())


def tree_layout(batch: Batch, *, pack_tokens: int, width: int) -> Layout:
    """Merge rows into trees and distribute the trees over packs of similar cost.

    Args:
        batch: on the device of the model.
        pack_tokens: most tokens of a pack; a larger tree gets a separate pack.
        width: hidden size of the model; weighs attention against all other computation.
    """
    trees = build_forest(_rows(batch))
    sizes = trees.stops_R - trees.roots_R
    packs = balance(sizes, _costs(trees, width), pack_tokens)
    start_R = np.zeros(len(sizes), np.int64)
    order = [tree for pack in packs for tree in pack]
    start_R[order] = np.cumsum([0, *sizes[order]])[:-1]
    node_N = np.repeat(start_R - trees.roots_R, sizes) + np.arange(len(trees.ids_N))
    node_BT = np.full(batch.ids_BT.shape, -1)
    node_BT[:, : trees.node_BT.shape[1]] = np.where(trees.node_BT >= 0, np.append(node_N, -1)[trees.node_BT], -1)
    device = batch.ids_BT.device
    return Layout(
        packs=tuple(make_pack(trees, pack, device) for pack in packs),
        node_BT=torch.from_numpy(node_BT).to(device),
        tokens=int((node_BT >= 0).sum()),
        computed=len(trees.ids_N),
    )


def _costs(trees: Forest, width: int) -> np.ndarray:
    """Cost of each tree, in attended token pairs: the layers of a token cost as much as 6 * width pairs."""
    each_N = trees.depth_N + 1 + 6 * width
    return np.add.reduceat(each_N, trees.roots_R) if len(trees.roots_R) else np.zeros(0)


def balance(sizes: Sequence[int] | np.ndarray, costs: Sequence[float] | np.ndarray, capacity: int) -> list[list[int]]:
    """Greedy bin packing with balanced costs: most expensive item first, into the cheapest pack with enough capacity.

    Args:
        sizes: item sizes.
        costs: item costs, to be similar in all packs.
        capacity: largest sum of sizes in a pack; a larger item gets a separate pack.

    Returns:
        ceil(sum of sizes / capacity) packs, or more if items do not fit; each pack lists indices in order.

    Example:
        sizes 5 4 3 2 with equal costs, capacity 8  ->  [[0, 3], [1, 2]]
    """
    packs: list[list[int]] = [[] for _ in range(-(-int(np.sum(sizes)) // capacity))]
    pack_sizes, pack_costs = [0] * len(packs), [0.0] * len(packs)
    for item in sorted(range(len(sizes)), key=lambda index: (-costs[index], index)):
        fitting = [pack for pack in range(len(packs)) if not packs[pack] or pack_sizes[pack] + sizes[item] <= capacity]
        if not fitting:
            packs = [*packs, []]
            pack_sizes = [*pack_sizes, 0]
            pack_costs = [*pack_costs, 0.0]
            fitting = [len(packs) - 1]
        pack = min(fitting, key=lambda pack: pack_costs[pack])
        packs[pack].append(item)
        pack_sizes[pack] += int(sizes[item])
        pack_costs[pack] += float(costs[item])
    return [sorted(pack) for pack in packs if pack]


def sibling_order(batch: Batch) -> Tensor:
    """Row order by token ids: rows with a common prefix are adjacent."""
    keys = [row.astype(">i8").tobytes() for row in _rows(batch)]
    return torch.tensor(sorted(range(len(keys)), key=keys.__getitem__), dtype=torch.int64)


def _rows(batch: Batch) -> list[np.ndarray]:
    length_B = batch.attend_BT.sum(1).tolist()
    return [row[:length] for row, length in zip(batch.ids_BT.cpu().numpy(), length_B)]


def hidden_states(model: Model, batch: Batch, layout: Layout) -> Tensor:
    """Hidden states [N, D] of all computed tokens of a layout.

    Raises:
        InputError: rows are longer than the model's context, or hold image tokens that the model cannot read.
    """
    longest = int(batch.attend_BT.sum(1).max()) if len(batch) else 0
    if longest > model.max_length:
        raise InputError(f"the batch has rows of {longest} tokens, the model reads {model.max_length}")
    images = _read_images(model, batch)
    if layout.packs:
        assert isinstance(model, TreeModel)
        packs = [replace(pack, images=images) for pack in layout.packs] if images else layout.packs
        return torch.cat([model.hidden_tree(pack) for pack in packs])
    ids_BT = torch.where(batch.attend_BT, batch.ids_BT, 0)  # a pad id may lie outside the vocabulary
    if images:
        return model.hidden(ids_BT, batch.attend_BT, images).flatten(0, 1)
    return model.hidden(ids_BT, batch.attend_BT).flatten(0, 1)


def _read_images(model: Model, batch: Batch) -> tuple[Image, ...]:
    """Images of the batch; none if no token is of an image, as with a chat format that describes images in words."""
    if not bool((is_image_id(batch.ids_BT) & batch.attend_BT).any()):
        return ()
    if not isinstance(model, VisionModel):
        raise InputError(f"the batch holds image tokens, and {type(model).__name__} reads no images: use a VisionModel")
    if not batch.images:
        raise InputError("the batch holds image tokens, and Batch.images is empty: give the images, Batch(images=...)")
    return batch.images
