"""Shard the rows of a batch over ranks and gather the results.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from handaxe.core.batch import Batch
from handaxe.core.images import Image, image_key, is_image_id
from handaxe.engines.cluster.rank_images import SentImage
from handaxe.engines.local.packing import sibling_order

__all__ = ["RankRows", "scatter_rows", "select_rows", "shard_rows", "slice_rows"]


class RankRows(NamedTuple):
    """The tensors of a `Batch` that a rank needs for the forward pass, and the images of its image tokens."""

    ids_BT: Tensor
    attend_BT: Tensor
    mask_BT: Tensor
    temperature_B: Tensor
    images: tuple[SentImage, ...] = ()


def shard_rows(batch: Batch, ranks: int, *, trees: bool = False) -> list[Tensor]:
    """Split the rows, sorted by token ids, into consecutive runs of similar token count, one run a rank.

    Siblings mostly stay on one rank, so that a shared prefix is read once. A group may be split, so that one large
    group is distributed as well.

    Args:
        trees: ranks read rows as trees: tokens shared with the preceding row do not count.

    Returns:
        For each rank the indices of its rows [int64]; empty for some ranks if there are fewer rows than ranks.

    Example:
        rows of 4 2 2 4 4 tokens, in this order, for 2 ranks         ->  rows 0 1 2 and 3 4
        rows of 6 6 6 tokens with a common prefix of 5, a row of 8   ->  rows 0 1 and 2 3; as trees rows 0 1 2 and 3
    """
    order_B = sibling_order(batch)
    tokens_B = batch.attend_BT.sum(1).cpu()[order_B]
    if trees and len(batch) > 1:
        tokens_B[1:] -= _shared_tokens(batch, order_B)
    middle_B = tokens_B.double().cumsum(0) - tokens_B / 2
    rank_B = (middle_B * ranks / tokens_B.sum().clamp(min=1)).long().clamp(max=ranks - 1)
    return [order_B[rank_B == rank] for rank in range(ranks)]


def _shared_tokens(batch: Batch, order_B: Tensor) -> Tensor:
    """Length of the common prefix of each row, except the first, with the preceding row in this order."""
    ids_BT, attend_BT = batch.ids_BT.cpu()[order_B], batch.attend_BT.cpu()[order_B]
    equal_BT = (ids_BT[1:] == ids_BT[:-1]) & attend_BT[1:] & attend_BT[:-1]
    return equal_BT.long().cumprod(1).sum(1)


def select_rows(batch: Batch, index: Tensor) -> RankRows | None:
    """Select rows by index, with the images that they show, and move them to the host; None for an empty index."""
    if not len(index):
        return None
    part = batch.rows(index.to(batch.ids_BT.device)).map(lambda tensor: tensor.cpu())
    return RankRows(part.ids_BT, part.attend_BT, part.mask_BT, part.temperature_B, _shown(part))


def _shown(batch: Batch) -> tuple[Image, ...]:
    """The images of the image tokens of a batch."""
    if not batch.images:
        return ()
    keys = set(image_key(batch.ids_BT[is_image_id(batch.ids_BT) & batch.attend_BT]).unique().tolist())
    return tuple(image for image in batch.images if image.key in keys)


def slice_rows(value_BT: Tensor, index: Tensor, rows: RankRows | None) -> Tensor:
    """Select the rows of a tensor [B, T] or [B, T, K] for a rank; 0 for a rank without rows, which runs a one-token
    dummy row."""
    if rows is None:
        return value_BT.new_zeros(1, 1, *value_BT.shape[2:])
    return value_BT[index, : rows.ids_BT.shape[1]]


def scatter_rows(out: Mapping[str, Tensor], values: Mapping[str, Tensor], index: Tensor) -> None:
    """Write a rank's values into the rows `index` of the batch's tensors, by name."""
    for name, value_BT in values.items() if len(index) else ():
        out[name][index, : value_BT.shape[1]] = value_BT.to(out[name].dtype)
