"""Block-sparse attention of tree tokens to their ancestors, without the wasted pairs of a dense mask.

Legend: H query heads, G key-value heads, N tokens in depth-first order, K width of a head, Q queries of a block,
S keys of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["KeyBlock", "attention_blocks", "tree_attention"]

STEP = 32
"""Tokens between two possible cuts of a chain."""
LONGEST = 256
"""Most queries of a block."""
OVERHEAD = 16384
"""Fixed cost of a block, in pairs. A quarter and four times this value changed the speed by at most a tenth, with 4
heads of width 32 on one core.
"""


class KeyBlock(NamedTuple):
    """Block of queries [start, stop), the key ranges that it attends to, in order, and the mask of each query."""

    start: int
    stop: int
    keys: tuple[tuple[int, int], ...]
    sees_QS: Tensor


def attention_blocks(last_N: np.ndarray, depth_N: np.ndarray, device: torch.device) -> tuple[KeyBlock, ...]:
    """Cut the tokens into blocks with few pairs.

    In depth-first order, the tokens of [a, b) attend only to that range and to the ancestors of token a. A block
    therefore costs (b - a) * (depth[a] + b - a) pairs; dynamic programming over branch starts and every STEP tokens of
    a chain finds the best cuts.

    Args:
        last_N: last token of each token's subtree.
        depth_N: number of ancestors of each token.
    """
    cuts = _cuts(depth_N)
    best = np.zeros(len(cuts))
    back = np.zeros(len(cuts), np.int64)
    for j in range(1, len(cuts)):
        low = min(int(np.searchsorted(cuts, cuts[j] - LONGEST)), j - 1)
        size = cuts[j] - cuts[low:j]
        costs = best[low:j] + size * (depth_N[cuts[low:j]] + size) + OVERHEAD
        back[j] = low + int(costs.argmin())
        best[j] = costs.min()
    bounds = [len(cuts) - 1]
    while bounds[-1] > 0:
        bounds.append(int(back[bounds[-1]]))
    edges = cuts[bounds[::-1]].tolist()
    return tuple(_span(last_N, start, stop, device) for start, stop in pairwise(edges))


def _cuts(depth_N: np.ndarray) -> np.ndarray:
    """List the possible cuts: 0, N, every branch start, and every STEP tokens after it."""
    place_N = np.arange(len(depth_N))
    begins_N = np.append(True, depth_N[1:] != depth_N[:-1] + 1)[: len(depth_N)]
    begun_N = np.maximum.accumulate(np.where(begins_N, place_N, 0))
    return np.append(place_N[(place_N - begun_N) % STEP == 0], len(depth_N))


def _span(last_N: np.ndarray, start: int, stop: int, device: torch.device) -> KeyBlock:
    above = np.flatnonzero(last_N[:start] >= start)
    keys = np.append(above, np.arange(start, stop))
    breaks = np.flatnonzero(np.diff(keys) != 1) + 1
    ranges = tuple((int(part[0]), int(part[-1]) + 1) for part in np.split(keys, breaks))
    query = np.arange(start, stop)[:, None]
    sees_QS = (keys <= query) & (query <= last_N[keys])
    return KeyBlock(start, stop, ranges, torch.from_numpy(sees_QS).to(device))


def tree_attention(q_HNK: Tensor, k_GNK: Tensor, v_GNK: Tensor, blocks: Sequence[KeyBlock]) -> Tensor:
    """Compute attention of every token to its ancestors and itself.

        out[n] = sum_a softmax_a(q[n] . k[a] / sqrt(K)) v[a]      over a = n and the ancestors of n

    For the gradient, each block stores its keys and values, not its weights.

    Args:
        q_HNK, k_GNK, v_GNK: queries, keys and values, rotated to their positions (depths). H is a multiple of G; query
            heads [h * H / G, (h + 1) * H / G) attend to key-value head h.
        blocks: from `attention_blocks`.

    Returns:
        [H, N, K], with gradient.
    """
    parts = list[Tensor]()
    for block in blocks:
        queries = q_HNK[:, block.start : block.stop]
        keys = _gather(k_GNK, block)
        values = _gather(v_GNK, block)
        out_1HQK = F.scaled_dot_product_attention(
            queries[None], keys[None], values[None], attn_mask=block.sees_QS, enable_gqa=len(q_HNK) != len(k_GNK)
        )
        parts.append(out_1HQK[0])
    return torch.cat(parts, 1) if parts else torch.empty_like(q_HNK)


def _gather(x_HNK: Tensor, block: KeyBlock) -> Tensor:
    parts = [x_HNK[:, start:stop] for start, stop in block.keys]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)
