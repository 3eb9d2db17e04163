"""Corruption of action blocks, and the loss of masked diffusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.papers.dllm_agent.denoiser import MASK, NOTHING, Denoiser
from handaxe.papers.dllm_agent.span_rows import SpanRow

__all__ = ["Corrupted", "corrupt", "denoising_loss", "draw_masks", "masked_loss", "target_logp"]

LEAST = 1e-3
"""Least masking probability; bounds the weight 1/t."""


class Corrupted(NamedTuple):
    """Padded batch of rows with noised blocks, as tensors [B, N]; `visible` [B, N, N].

    target    ids before the noise
    masked    True at masked tokens
    t         masking probability of the token's block; 1 in the clean copy and 0 in padding
    noisy     True at tokens of noised blocks, masked or not, anchors aside
    """

    ids: Tensor
    before: Tensor
    position: Tensor
    visible: Tensor
    target: Tensor
    masked: Tensor
    t: Tensor
    noisy: Tensor


def draw_masks(row: SpanRow, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Mask each token of a block with probability t, t ~ U(0, 1) a block; clean copies stay as they are.

    The probabilities of K blocks are stratified: u, u + 1/K, u + 2/K, ... modulo 1, permuted, with one u ~ U(0, 1).

    Args:
        row: of N tokens.
        rng: random numbers.

    Returns:
        Masked tokens [N] bool, and the probability t [N] of each token's block; 1 where nothing is masked.

    Example:
        a block C D . . with t = 0.5 may become C MASK . MASK

    Paper: arXiv:2602.07451 (DLLM Agent), context-clean corruption: noise in action spans alone.
    Unconfirmed: the schedule t ~ U(0, 1), and a draw for each block instead of each conversation.
    Differs: nothing.
    """
    noisy_N = row.predicted
    many = row.block.max() + 1
    t_block = np.maximum((rng.random() + rng.permutation(many) / many) % 1, LEAST)
    t_N = np.where(noisy_N, np.append(t_block, 1.0)[row.block], 1.0)
    return noisy_N & (rng.random(len(t_N)) < t_N), t_N


def corrupt(
    rows: Sequence[SpanRow],
    visible: Sequence[np.ndarray],
    masked: Sequence[np.ndarray],
    t: Sequence[np.ndarray],
) -> Corrupted:
    """Collate rows with masked tokens, padded to the longest row; padding sees itself alone.

    Args:
        rows: B rows of lengths N_b.
        visible: attention mask [N_b, N_b] of each row.
        masked: masked tokens [N_b] of each row.
        t: masking probabilities [N_b] of each row.

    Returns:
        The batch.

    Example:
        ids b C D E with D masked become b C MASK E, and the previous id of E becomes MASK

    Paper: arXiv:2602.07451 (DLLM Agent), context-clean corruption.
    Differs: nothing.
    """
    made = list[list[Tensor]]()
    longest = max(len(row.ids) for row in rows)
    for row, visible_NN, masked_N, t_N in zip(rows, visible, masked, t, strict=True):
        behind_N = np.concatenate([[False], masked_N[:-1] & (row.block[:-1] == row.block[1:])])
        room = longest - len(t_N)
        columns = [
            np.pad(np.where(masked_N, MASK, row.ids), (0, room)),
            np.pad(np.where(behind_N, MASK, row.before), (0, room), constant_values=NOTHING),
            *(np.pad(one, (0, room)) for one in (row.position, row.ids, masked_N, t_N, row.predicted)),
        ]
        whole_NN = np.eye(longest, dtype=bool)
        whole_NN[: len(t_N), : len(t_N)] = visible_NN
        made.append([*map(torch.from_numpy, columns), torch.from_numpy(whole_NN)])
    ids, before, position, target, masked_BN, t_BN, noisy, visible_BNN = map(torch.stack, zip(*made))
    return Corrupted(ids, before, position, visible_BNN, target, masked_BN, t_BN, noisy)


def masked_loss(logp_M: Tensor, t_M: Tensor, count: int) -> Tensor:
    """Sum the weighted cross-entropies of masked tokens.

        L = 1/count * sum over masked m of -(1 / t_m) log p(target_m)

    Args:
        logp_M: log-probs of the targets of masked tokens.
        t_M: masking probabilities of their blocks, in (0, 1].
        count: divisor: the tokens of all noised blocks, masked or not.

    Returns:
        A scalar.

    Example:
        two of four tokens masked with t = 0.5 and probabilities 0.5 and 0.25: (2 ln 2 + 2 ln 4) / 4 = 1.5 ln 2

    Paper: arXiv:2602.07451 (DLLM Agent), the objective of masked diffusion.
    Unconfirmed: the weight 1/t, that of LLaDA (arXiv:2502.09992).
    Differs: nothing.
    """
    return -(logp_M / t_M).sum() / count


def denoising_loss(model: Denoiser, batch: Corrupted) -> Tensor:
    """Compute the loss of a batch.

    Example:
        denoising_loss(model, corrupt(rows, visible, masked, t)).backward()

    Paper: arXiv:2602.07451 (DLLM Agent), the objective of masked diffusion.
    Differs: nothing.
    """
    t_M = batch.t[batch.masked]
    logp_M = target_logp(model, batch)
    return masked_loss(logp_M, t_M.to(logp_M.dtype), int(batch.noisy.sum()))


def target_logp(model: Denoiser, batch: Corrupted) -> Tensor:
    """Compute the log-probs [M] of the masked tokens of a batch, in order of rows and tokens.

    Example:
        a batch of two rows with 2 and 3 masked tokens gives 5 log-probs

    Paper: arXiv:2602.07451 (DLLM Agent), the prediction of masked tokens.
    Differs: nothing.
    """
    hidden_BND, _ = model.extend((), batch.ids, batch.before, batch.position, batch.visible)
    logp_MV = model.log_probs(hidden_BND[:, :-1][batch.masked[:, 1:]])
    return logp_MV.gather(1, batch.target[batch.masked][:, None])[:, 0]
