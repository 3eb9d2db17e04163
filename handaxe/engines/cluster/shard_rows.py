"""Which rank reads which rows of a batch, and how what ranks say becomes one again.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from handaxe.core.batch import Batch
from handaxe.engines.local.packing import sibling_order

__all__ = ["RankRows", "cut_rows", "lay_down", "rank_rows", "shard_rows"]


class RankRows(NamedTuple):
    """As much of a `Batch` as is needed to read it and to ask about its trained tokens."""

    ids_BT: Tensor
    attend_BT: Tensor
    mask_BT: Tensor
    temperature_B: Tensor


def shard_rows(batch: Batch, ranks: int, *, trees: bool = False) -> list[Tensor]:
    """Cut the rows into as many runs of about equally much to read, those that begin alike beside each other.

    Siblings then mostly stay together, so that what they share is read once; and no group has to, so that a single
    large one is dealt too.

    Args:
        trees: ranks read rows as trees, so that of a row counts only what the row before does not begin with, too.

    Returns:
        For each rank the rows that it reads [int64], an empty tensor for some where there are fewer rows than ranks.

    Example:
        rows of 4 2 2 4 4 tokens, in this order, for 2 ranks            ->  rows 0 1 2 and 3 4
        rows of 6 6 6 tokens that begin with the same 5, then one of 8  ->  rows 0 1 and 2 3; as trees rows 0 1 2 and 3
    """
    order_B = sibling_order(batch)
    tokens_B = batch.attend_BT.sum(1).cpu()[order_B]
    if trees and len(batch) > 1:
        tokens_B[1:] -= _shared(batch, order_B)
    middle_B = tokens_B.double().cumsum(0) - tokens_B / 2
    rank_B = (middle_B * ranks / tokens_B.sum().clamp(min=1)).long().clamp(max=ranks - 1)
    return [order_B[rank_B == rank] for rank in range(ranks)]


def _shared(batch: Batch, order_B: Tensor) -> Tensor:
    """Of each row of this order but the first, the tokens that it and the one before begin with."""
    ids_BT, attend_BT = batch.ids_BT.cpu()[order_B], batch.attend_BT.cpu()[order_B]
    alike_BT = (ids_BT[1:] == ids_BT[:-1]) & attend_BT[1:] & attend_BT[:-1]
    return alike_BT.long().cumprod(1).sum(1)


def rank_rows(batch: Batch, index: Tensor) -> RankRows | None:
    """The rows with these numbers, on the host; None where there are no numbers."""
    if not len(index):
        return None
    part = batch.rows(index.to(batch.ids_BT.device)).map(lambda tensor: tensor.cpu())
    return RankRows(part.ids_BT, part.attend_BT, part.mask_BT, part.temperature_B)


def cut_rows(value_BT: Tensor, index: Tensor, rows: RankRows | None) -> Tensor:
    """A rank's rows of a tensor; a single 0 for a rank without rows, which reads one token in their place."""
    if rows is None:
        return value_BT.new_zeros(1, 1)
    return value_BT[index, : rows.ids_BT.shape[1]]


def lay_down(whole: Mapping[str, Tensor], said: Mapping[str, Tensor], index: Tensor) -> None:
    """Write what a rank says of the rows with these numbers into the tensors of the whole batch, by name."""
    for name, value_BT in said.items() if len(index) else ():
        whole[name][index, : value_BT.shape[1]] = value_BT.to(whole[name].dtype)
