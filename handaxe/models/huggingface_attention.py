"""Attention of new tokens to the keys and values that lie in slots, their own included.

Shapes: N new tokens, of several slots or rows one after another, S slots, T new tokens of a slot, U positions attended
to, C tokens a slot has room for, H heads, G key-value heads, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from handaxe.core.model_api import Reading

__all__ = ["Attend", "attend_read", "attend_written"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries [N, H, K] of all new tokens, keys and values [S, G, C, K] -> [n, H, K] for the n tokens it is about."""


def attend_written(lengths: Sequence[int], positions: Sequence[int], like: Tensor) -> Attend:
    """Attention of so many tokens in each of the first S slots, the first of them at these positions."""
    count, width = len(lengths), max(lengths, default=1)
    used = max((max(position, 0) + length for position, length in zip(positions, lengths)), default=0)
    position_S, length_S, column_T = (
        torch.tensor(x, device=like.device) for x in ([max(p, 0) for p in positions], lengths, list(range(width)))
    )
    last_ST = position_S[:, None] + column_T
    later_S1TU = torch.arange(used, device=like.device) > last_ST[:, None, :, None]
    mask_S1TU = torch.zeros_like(later_S1TU, dtype=like.dtype).masked_fill_(later_S1TU, -torch.inf)
    there_N = (column_T < length_S[:, None]).flatten().nonzero()[:, 0]

    def attend(q_NHK: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        if not count:
            return q_NHK[:0]
        heads = keys.shape[1]
        shared = q_NHK.shape[1] // keys.shape[1]
        size = keys.shape[3]
        q = q_NHK[: len(there_N)]
        if len(there_N) < count * width:
            q = q.new_zeros(count * width, *q.shape[1:]).index_copy_(0, there_N, q)
        # The queries that share a key-value head stand side by side, where a row's tokens would.
        q = q.view(count, width, heads, shared, size).permute(0, 2, 3, 1, 4).reshape(count, heads, -1, size)
        mask = mask_S1TU if shared == 1 or width == 1 else mask_S1TU.repeat(1, 1, shared, 1)
        out = F.scaled_dot_product_attention(q, keys[:count, :, :used], values[:count, :, :used], attn_mask=mask)
        out = out.view(count, heads, shared, width, size).permute(0, 3, 1, 2, 4).reshape(-1, heads * shared, size)
        return out if len(there_N) == len(out) else out[there_N]

    return attend


def attend_read(row: Reading, end: int, device: torch.device) -> Attend:
    """Attention of the new tokens of a row, of which `end` is the last, to all of it."""
    length, new = len(row.ids), len(row.ids) - row.start
    mask = None
    if 1 < new < length:
        place_U = torch.arange(length, device=device)
        mask = place_U <= place_U[row.start :, None]

    def attend(q_NHK: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        q_1HTK = q_NHK[end + 1 - new : end + 1].transpose(0, 1)[None]
        keys, values = keys[row.slot, None, :, :length], values[row.slot, None, :, :length]
        shared = keys.shape[1] != q_1HTK.shape[1]
        out_1HTK = F.scaled_dot_product_attention(
            q_1HTK, keys, values, attn_mask=mask, is_causal=new == length, enable_gqa=shared
        )
        return out_1HTK[0].transpose(0, 1)

    return attend
