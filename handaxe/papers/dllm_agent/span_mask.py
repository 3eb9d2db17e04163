"""Attention masks of masked diffusion over conversations."""

from __future__ import annotations

import numpy as np

from handaxe.papers.dllm_agent.span_rows import CLEAN, SpanRow

__all__ = ["naive_mask", "span_mask"]


def span_mask(row: SpanRow) -> np.ndarray:
    """Compute the aligned mask: bidirectional within a block, causal over spans.

        clean token i      sees clean tokens j <= i
        noised block k     sees clean tokens before its anchor, and all of block k, the anchor included

    No token sees noised tokens of another block, so no earlier span depends on a later one, and earlier actions are
    seen clean, as in a rollout.

    Args:
        row: of N tokens.

    Returns:
        [N, N] bool, True where row n sees column m.

    Example:
        context 0 1 2, action 3 4, result 5 6, action 7 8, blocks of 2:
        the first block sees clean 0 1, its anchor 2 and its tokens; the second clean 0 to 5, its anchor 6, its tokens

    Paper: arXiv:2602.07451 (DLLM Agent), span-aware attention alignment.
    Unconfirmed: causal attention within the context, as its backbone, a context-causal block diffusion model, has it.
    Differs: nothing.
    """
    clean = row.block == CLEAN
    context = clean[None, :] & (row.position[None, :] < row.start[:, None])
    same = (row.block[:, None] == row.block[None, :]) & ~clean[:, None]
    visible: np.ndarray = context | same
    return visible


def naive_mask(row: SpanRow) -> np.ndarray:
    """Compute the misaligned mask: every token sees the whole context and all noised blocks.

        token n sees token m    if m is a context token, earlier or later, or belongs to a noised block

    An action then sees tool results that do not exist when it is sampled, and context tokens see noised actions.

    Args:
        row: of N tokens.

    Returns:
        [N, N] bool, True where row n sees column m; no token sees the clean copy of an action.

    Example:
        context 0 1 2, action 3 4, result 5 6, action 7 8: a token of the first block sees 0 1 2 5 6 and both blocks

    Paper: arXiv:2602.07451 (DLLM Agent), span corruption without mask alignment.
    Unconfirmed: the paper's abstract names spurious context-action flow and no mask.
    Differs: nothing.
    """
    anchor_N = (row.block != CLEAN) & ~row.action
    seen_N = ((row.block != CLEAN) | ~row.action) & ~anchor_N
    return np.broadcast_to(seen_N, (len(seen_N), len(seen_N))).copy()
