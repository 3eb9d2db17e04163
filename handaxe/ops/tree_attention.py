"""Attention of the tokens of trees to their ancestors, in blocks, without the pairs that a dense mask would throw away.

Legend: H heads, N tokens in depth-first order, K width of a head, Q queries of a block, S keys of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["KeyBlock", "spans", "tree_attention"]

STEP = 32
"""Tokens between two places where a chain may be cut."""
LONGEST = 256
"""Most queries of a block."""
OVERHEAD = 16384
"""What a block costs besides its pairs, in pairs. A quarter of it and four times it were at most a tenth slower or
faster, with 4 heads of width 32 on one core."""


class KeyBlock(NamedTuple):
    """A block of queries [start, stop) and the ranges of keys that it sees, in order.

    `hidden_QS` is True where a query must not see a key; it covers the last keys only, since every query of the
    block sees those before.
    """

    start: int
    stop: int
    keys: tuple[tuple[int, int], ...]
    hidden_QS: Tensor


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
    shared = int(np.searchsorted(-last_N[above], -(stop - 1), side="right"))  # `last` falls along a path
    keys = np.append(above, np.arange(start, stop))
    breaks = np.flatnonzero(np.diff(keys) != 1) + 1
    ranges = tuple((int(part[0]), int(part[-1]) + 1) for part in np.split(keys, breaks))
    tail, query = keys[shared:], np.arange(start, stop)[:, None]
    hidden_QS = (tail > query) | (query > last_N[tail])
    return KeyBlock(start, stop, ranges, torch.from_numpy(hidden_QS).to(device))


def tree_attention(q_HNK: Tensor, k_HNK: Tensor, v_HNK: Tensor, blocks: Sequence[KeyBlock]) -> Tensor:
    """Let every token attend its ancestors and itself.

        out[n] = sum_a softmax_a(q[n] . k[a] / sqrt(K)) v[a]      over a = n and the ancestors of n

    Memory beyond the arguments is that of one block. The weights are computed again for the gradient.

    Args:
        q_HNK, k_HNK, v_HNK: queries, keys and values, turned to their positions (depths).
        blocks: from `spans`.

    Returns:
        [H, N, K], with gradient (once; not twice).
    """
    return _TreeAttention.apply(q_HNK, k_HNK, v_HNK, blocks)


class _TreeAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q_HNK: Tensor, k_HNK: Tensor, v_HNK: Tensor, blocks: Sequence[KeyBlock]) -> Tensor:
        q_HNK = q_HNK * q_HNK.shape[-1] ** -0.5
        out_HNK = torch.empty_like(v_HNK)
        for span in blocks:
            p_HQS = _weights(q_HNK, _gather(k_HNK, span), span)
            out_HNK[:, span.start : span.stop] = p_HQS @ _gather(v_HNK, span)
        ctx.save_for_backward(q_HNK, k_HNK, v_HNK, out_HNK)
        ctx.blocks = blocks
        return out_HNK

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out_HNK: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # type: ignore[override]
        q_HNK, k_HNK, v_HNK, out_HNK = ctx.saved_tensors
        dq_HNK, dk_HNK, dv_HNK = torch.empty_like(q_HNK), torch.zeros_like(k_HNK), torch.zeros_like(v_HNK)
        inner_HN1 = (d_out_HNK * out_HNK).sum(-1, keepdim=True)
        for span in ctx.blocks:
            rows = slice(span.start, span.stop)
            k_HSK, d_out_HQK = _gather(k_HNK, span), d_out_HNK[:, rows]
            p_HQS = _weights(q_HNK, k_HSK, span)
            ds_HQS = d_out_HQK @ _gather(v_HNK, span).transpose(1, 2)
            ds_HQS.sub_(inner_HN1[:, rows]).mul_(p_HQS)
            dq_HNK[:, rows] = ds_HQS @ k_HSK
            _add(dk_HNK, span, ds_HQS.transpose(1, 2) @ q_HNK[:, rows])
            _add(dv_HNK, span, p_HQS.transpose(1, 2) @ d_out_HQK)
        return dq_HNK.mul_(q_HNK.shape[-1] ** -0.5), dk_HNK, dv_HNK, None


def _weights(q_HNK: Tensor, k_HSK: Tensor, span: KeyBlock) -> Tensor:
    scores_HQS = q_HNK[:, span.start : span.stop] @ k_HSK.transpose(1, 2)
    scores_HQS[..., scores_HQS.shape[-1] - span.hidden_QS.shape[1] :].masked_fill_(span.hidden_QS, -torch.inf)
    return scores_HQS.softmax(-1)


def _gather(x_HNK: Tensor, span: KeyBlock) -> Tensor:
    parts = [x_HNK[:, start:stop] for start, stop in span.keys]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


def _add(into_HNK: Tensor, span: KeyBlock, x_HSK: Tensor) -> None:
    for (start, stop), part in zip(span.keys, x_HSK.split([stop - start for start, stop in span.keys], 1)):
        into_HNK[:, start:stop] += part
