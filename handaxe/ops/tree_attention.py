"""Attention of the tokens of trees to their ancestors, in blocks, without the pairs that a dense mask would throw away.

Legend: H heads, N tokens in depth-first order, K width of a head, Q queries of a block, S keys of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["KeyBlock", "spans", "tree_attention"]

STEP = 32
"""Tokens between two places where a chain may be cut."""
LONGEST = 256
"""Most queries of a block."""
OVERHEAD = 16384
"""What a block costs besides its pairs, in pairs. A quarter of it and four times it were at most a tenth slower or
faster, with 4 heads of width 32 on one core."""


class KeyBlock(NamedTuple):
    """A block of queries [start, stop), the ranges of keys that it sees, in order, and what each query sees of them."""

    start: int
    stop: int
    keys: tuple[tuple[int, int], ...]
    sees_QS: Tensor


def spans(last_N: np.ndarray, depth_N: np.ndarray, device: torch.device) -> tuple[KeyBlock, ...]:
    """Cut the tokens into blocks so that few pairs are computed.

    In depth-first order, what any token of [a, b) attends lies in that range or among the ancestors of token a. So the
    block costs (b - a) * (depth[a] + b - a) pairs, and the best cuts are found by dynamic programming over the places
    where a branch begins and every STEP tokens of a chain.

    Args:
        last_N: the last token of each token's subtree.
        depth_N: how many ancestors each token has.
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
    """Places to cut: 0, N, wherever a branch begins, and every STEP tokens after that."""
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


def tree_attention(q_HNK: Tensor, k_HNK: Tensor, v_HNK: Tensor, blocks: Sequence[KeyBlock]) -> Tensor:
    """Let every token attend its ancestors and itself.

        out[n] = sum_a softmax_a(q[n] . k[a] / sqrt(K)) v[a]      over a = n and the ancestors of n

    For the gradient, the keys and values that each block sees are kept, not its weights.

    Args:
        q_HNK, k_HNK, v_HNK: queries, keys and values, turned to their positions (depths).
        blocks: from `spans`.

    Returns:
        [H, N, K], with gradient.
    """
    parts = list[Tensor]()
    for block in blocks:
        queries = q_HNK[:, block.start : block.stop]
        keys = _gather(k_HNK, block)
        values = _gather(v_HNK, block)
        out_1HQK = F.scaled_dot_product_attention(queries[None], keys[None], values[None], attn_mask=block.sees_QS)
        parts.append(out_1HQK[0])
    return torch.cat(parts, 1) if parts else torch.empty_like(v_HNK)


def _gather(x_HNK: Tensor, block: KeyBlock) -> Tensor:
    parts = [x_HNK[:, start:stop] for start, stop in block.keys]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)
