"""Which rank reads which rows of a batch.

Shapes: B rows, T tokens.
"""

from __future__ import annotations

from torch import Tensor

from handaxe.engines.packing import sibling_order
from handaxe.tensors import Batch

__all__ = ["deal"]


def deal(batch: Batch, ranks: int) -> list[Tensor]:
    """Cut the rows into as many runs of about equally many tokens, those that begin alike beside each other.

    Siblings then mostly stay together, so that what they share is read once; and no group has to, so that a single
    large one is dealt too.

    Returns:
        For each rank the rows that it reads [int64], none for some where there are fewer rows than ranks.

    Example:
        rows of 4 2 2 4 4 tokens, in this order, for 2 ranks  ->  rows 0 1 2 and 3 4
    """
    order_B = sibling_order(batch)
    tokens_B = batch.attend_BT.sum(1).cpu()[order_B].double()
    middle_B = tokens_B.cumsum(0) - tokens_B / 2
    rank_B = (middle_B * ranks / tokens_B.sum().clamp(min=1)).long().clamp(max=ranks - 1)
    return [order_B[rank_B == rank] for rank in range(ranks)]
