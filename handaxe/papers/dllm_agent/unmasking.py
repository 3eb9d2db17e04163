"""Decoding by iterative unmasking of blocks in the order of confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from handaxe.core.errors import InputError
from handaxe.papers.dllm_agent.denoiser import MASK, NOTHING, Denoiser, KeysValues

__all__ = ["DecodedTurn", "choose_tokens", "unmask_turns"]


class DecodedTurn(NamedTuple):
    """A decoded turn.

    ids       tokens up to the first stop id, or all of them
    logp      log-prob of each token when it was unmasked
    stopped   True if a stop id ends the turn
    forwards  forward passes, of the context too
    """

    ids: list[int]
    logp: list[float]
    stopped: bool
    forwards: int


def choose_tokens(logp_SV: Tensor, masked_S: Tensor, *, threshold: float) -> tuple[Tensor, Tensor]:
    """Choose the masked tokens of a block that are unmasked in a step.

        unmasked = {n masked: max_v p(n, v) >= threshold}, and in any case the masked n with the largest max_v p(n, v)

    Args:
        logp_SV: log-probs of a block of S tokens.
        masked_S: masked positions, at least one.
        threshold: least confidence, in (0, 1].

    Returns:
        Unmasked positions [S] bool, and the most likely id of each position [S].

    Example:
        confidences 0.95 0.5 0.9 with threshold 0.9: the first and the third; with threshold 0.99: the first

    Paper: arXiv:2602.07451 (DLLM Agent), iterative denoising of a block.
    Unconfirmed: a threshold of confidence, as its released backbone and Fast-dLLM (arXiv:2505.22618) use.
    Differs: nothing.
    """
    best_S, id_S = logp_SV.max(-1)
    best_S = best_S.masked_fill(~masked_S, -torch.inf)
    unmasked_S = masked_S & (best_S.exp() >= threshold)
    unmasked_S[best_S.argmax()] = True
    return unmasked_S, id_S


@torch.no_grad()
def unmask_turns(
    model: Denoiser,
    contexts: Sequence[Sequence[int]],
    *,
    size: int,
    stop: frozenset[int],
    threshold: float = 0.9,
    most: int = 64,
    aligned: bool = True,
) -> list[DecodedTurn]:
    """Decode a turn after each context, a block of masked tokens after the other.

    Steps unmask tokens by `choose_tokens`, until every token before the first stop id of the block is unmasked. A block
    without a stop id joins the context, and another block follows.

    Args:
        model: the policy.
        contexts: ids before each turn, not empty.
        size: tokens of a block.
        stop: ids that end a turn.
        threshold: least confidence.
        most: tokens of a turn.
        aligned: attention by `span_mask`, with cached contexts; else by `naive_mask`, without a cache.

    Returns:
        A turn for each context.

    Raises:
        InputError: an empty context, `size` or `most` below 1, or a threshold outside (0, 1].

    Example:
        a block with confidences above the threshold takes 2 forward passes: of the context, and of the block

    Paper: arXiv:2602.07451 (DLLM Agent), block-wise iterative denoising.
    Unconfirmed: the order by confidence.
    Differs: the most likely token is taken; the paper's sampling parameters are unknown.
    """
    if size < 1 or most < 1 or not 0 < threshold <= 1 or not all(len(one) for one in contexts):
        raise InputError("give contexts that are not empty, size and most of 1 or more, and a threshold in (0, 1]")
    return [_decode(model, list(ids), size, stop, threshold, most, aligned) for ids in contexts]


def _decode(
    model: Denoiser, ids: list[int], size: int, stop: frozenset[int], threshold: float, most: int, aligned: bool
) -> DecodedTurn:
    begin = len(ids)
    chosen = list[float]()
    forwards = 0
    while len(ids) - begin < most:
        context_T = torch.tensor(ids)
        cached = aligned and len(ids) > 1
        cache = _context(model, context_T[:-1]) if cached else ()
        forwards += int(cached)
        block_S = torch.full((min(size, most - (len(ids) - begin)),), MASK)
        logp_S = torch.zeros(len(block_S))
        while (masked_S := (block_S == MASK) & _before_stop(block_S, stop)).any():
            out_SV = _block(model, cache, context_T, block_S, aligned)
            forwards += 1
            unmasked_S, id_S = choose_tokens(out_SV, masked_S, threshold=threshold)
            block_S = torch.where(unmasked_S, id_S, block_S)
            logp_S = torch.where(unmasked_S, out_SV.max(-1).values, logp_S)
        length = int(_before_stop(block_S, stop).sum())
        ids += block_S[:length].tolist()
        chosen += logp_S[:length].tolist()
        if ids[-1] in stop:
            break
    return DecodedTurn(ids[begin:], chosen, ids[-1] in stop, forwards)


def _before_stop(block_S: Tensor, stop: frozenset[int]) -> Tensor:
    """True up to the first stop id, included."""
    stops_S = torch.isin(block_S, torch.tensor(sorted(stop), dtype=block_S.dtype))
    return stops_S.cumsum(0) - stops_S.long() == 0


def _context(model: Denoiser, context_T: Tensor) -> KeysValues:
    """Keys and values of a context."""
    visible_TT = torch.ones(len(context_T), len(context_T), dtype=torch.bool).tril()
    before_T = torch.cat([torch.tensor([NOTHING]), context_T[:-1]])
    place_T = torch.arange(len(context_T))
    return model.extend((), context_T[None], before_T[None], place_T[None], visible_TT[None])[1]


def _block(model: Denoiser, cache: KeysValues, context_T: Tensor, block_S: Tensor, aligned: bool) -> Tensor:
    """Log-probs [S, V] of a block after its context."""
    size = len(block_S)
    total = len(context_T) + size
    whole_N = torch.cat([context_T, block_S])
    before_N = torch.cat([torch.tensor([NOTHING]), whole_N[:-1]])
    place_N = torch.arange(total)
    first = len(context_T) - 1 if aligned else 0
    visible = torch.ones(1, total - first, total, dtype=torch.bool)
    out, _ = model.extend(cache, whole_N[None, first:], before_N[None, first:], place_N[None, first:], visible)
    return model.log_probs(out[0, -size - 1 : -1])
