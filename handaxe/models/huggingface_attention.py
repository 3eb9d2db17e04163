"""Attention of new tokens to the KV cache of a transformers model, which already has their keys and values.

Shapes: N new tokens of all slots or rows in sequence, S slots, T new tokens of a slot, U attended positions, C capacity
of a slot in tokens, H heads, G key-value heads, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from handaxe.core.model_api import Reading

__all__ = ["Attend", "decode_attention", "prefill_attention"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries [N, H, K] of all new tokens, keys and values [S, G, C, K] -> [n, H, K] for the n tokens of the function."""


def decode_attention(lengths: Sequence[int], positions: Sequence[int], like: Tensor) -> Attend:
    """Make the attention of the next tokens in each of the first S slots.

    Args:
        lengths: number of next tokens in each slot, [S].
        positions: position of the first of them in each slot, [S].
        like: tensor with the dtype and device of the mask.
    """
    count, width = len(lengths), max(lengths, default=1)
    used = max((max(position, 0) + length for position, length in zip(positions, lengths)), default=0)
    position_S, length_S, column_T = (
        torch.tensor(x, device=like.device) for x in ([max(p, 0) for p in positions], lengths, list(range(width)))
    )
    position_ST = position_S[:, None] + column_T
    later_S1TU = torch.arange(used, device=like.device) > position_ST[:, None, :, None]
    mask_S1TU = torch.zeros_like(later_S1TU, dtype=like.dtype).masked_fill_(later_S1TU, -torch.inf)
    index_N = (column_T < length_S[:, None]).flatten().nonzero()[:, 0]

    def attend(q_NHK: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        if not count:
            return q_NHK[:0]
        heads = keys.shape[1]
        shared = q_NHK.shape[1] // keys.shape[1]
        size = keys.shape[3]
        q = q_NHK[: len(index_N)]
        if len(index_N) < count * width:
            q = q.new_zeros(count * width, *q.shape[1:]).index_copy_(0, index_N, q)
        # Queries with a common key-value head are neighbours on the token axis.
        q = q.view(count, width, heads, shared, size).permute(0, 2, 3, 1, 4).reshape(count, heads, -1, size)
        mask = mask_S1TU if shared == 1 or width == 1 else mask_S1TU.repeat(1, 1, shared, 1)
        out = F.scaled_dot_product_attention(q, keys[:count, :, :used], values[:count, :, :used], attn_mask=mask)
        out = out.view(count, heads, shared, width, size).permute(0, 3, 1, 2, 4).reshape(-1, heads * shared, size)
        return out if len(index_N) == len(out) else out[index_N]

    return attend


def prefill_attention(row: Reading, end: int, device: torch.device) -> Attend:
    """Make the attention of the new tokens of a row to the whole row; `end` is the index of the last new token in N."""
    length, new = len(row.ids), len(row.ids) - row.start
    mask = None
    if 1 < new < length:
        position_U = torch.arange(length, device=device)
        mask = position_U <= position_U[row.start :, None]

    def attend(q_NHK: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        q_1HTK = q_NHK[end + 1 - new : end + 1].transpose(0, 1)[None]
        keys, values = keys[row.slot, None, :, :length], values[row.slot, None, :, :length]
        shared = keys.shape[1] != q_1HTK.shape[1]
        out_1HTK = F.scaled_dot_product_attention(
            q_1HTK, keys, values, attn_mask=mask, is_causal=new == length, enable_gqa=shared
        )
        return out_1HTK[0].transpose(0, 1)

    return attend
