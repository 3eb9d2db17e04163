"""Rows of masked diffusion: a clean conversation, followed by a noised copy of each block of its action spans.

Legend: T tokens of a conversation, N tokens of a row, B rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["CLEAN", "SpanRow", "action_spans", "span_row"]

CLEAN = -1
"""Block number of the tokens of the clean copy."""


class SpanRow(NamedTuple):
    """Parallel arrays [N] over the clean copy of a conversation and the copies of its action blocks, in order.

    ids       the tokens to predict, in the clean copy the tokens of the conversation
    before    previous token; -2 at the first position of the conversation
    position  place in the conversation
    block     number of the block from 0; CLEAN in the clean copy
    start     clean tokens before this position are visible: that of the block's anchor, and in the clean copy the
              position after the token
    action    True at tokens of action spans, in both copies; False at anchors
    """

    ids: np.ndarray
    before: np.ndarray
    position: np.ndarray
    block: np.ndarray
    start: np.ndarray
    action: np.ndarray

    @property
    def predicted(self) -> np.ndarray:
        """[N] bool: tokens of noised blocks, anchors aside."""
        tokens: np.ndarray = (self.block != CLEAN) & self.action
        return tokens


def action_spans(mask: np.ndarray) -> list[tuple[int, int]]:
    """List the runs [start, stop) of a policy mask.

    Example:
        F F F T T F F T T  ->  (3, 5), (7, 9)

    Paper: arXiv:2602.07451 (DLLM Agent), action spans of a trajectory.
    Differs: nothing.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.asarray(mask, bool), [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def span_row(ids: Sequence[int] | np.ndarray, spans: Sequence[tuple[int, int]], *, size: int, pad: int) -> SpanRow:
    """Lay out a conversation for one forward pass over all of its action spans.

        row = clean copy, block 0, block 1, ...      each span is cut into blocks of `size` tokens, the last one padded
        block = anchor, `size` tokens                the anchor is the token before, which predicts the first token

    Blocks of all spans are noised in one pass, while each still sees the earlier spans clean. As in the embedded
    policy, the output at a token predicts the next token.

    Args:
        ids: [T] conversation.
        spans: [start, stop) of the action spans, ascending and disjoint, none at position 0.
        size: tokens of a block, >= 1.
        pad: id that fills the last block of a span, the end of a turn.

    Returns:
        The row, of T + (size + 1) * (number of blocks) tokens.

    Raises:
        InputError: size below 1, or spans that are empty, overlap, begin at 0 or exceed the conversation.

    Example:
        ids a b C D e, span (2, 4), size 3, pad .   ->   a b C D e | b C D .   at positions 0 1 2 3 4 | 1 2 3 4

    Paper: arXiv:2602.07451 (DLLM Agent), context-clean corruption: noise in action spans alone.
    Unconfirmed: the layout in two copies, that of block diffusion (arXiv:2503.09573).
    Differs: the output at a token predicts the next token (a shift); the paper's backbone predicts in place.
    """
    if size < 1:
        raise InputError(f"a block has {size} tokens; give 1 or more")
    last = 0
    total = len(ids)
    for start, stop in spans:
        if not max(last, 1) <= start < stop <= total:
            raise InputError(
                f"span ({start}, {stop}) must lie after token {max(last, 1) - 1} and within {total} tokens"
            )
        last = stop
    clean = np.asarray(ids, np.int64)
    place = np.arange(total)
    before = np.concatenate([[-2], clean[:-1]])
    inside = np.zeros(total, bool)
    columns = [(clean, before, place, np.full(total, CLEAN), place + 1, inside)]
    number = 0
    for start, stop in spans:
        inside[start:stop] = True
        for first in range(start, stop, size):
            kept = clean[first - 1 : min(first + size, stop)]
            own = np.concatenate([kept, np.full(size + 1 - len(kept), pad)])
            earlier = np.concatenate([before[first - 1 : first], own[:-1]])
            shape = np.ones(size + 1, np.int64)
            columns.append(
                (own, earlier, first - 1 + np.arange(size + 1), number * shape, (first - 1) * shape, shape > 0)
            )
            columns[-1][-1][0] = False
            number += 1
    return SpanRow(*(np.concatenate(column) for column in zip(*columns)))
