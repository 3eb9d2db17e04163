"""Bound of masked diffusion on the log-likelihood of a block: exact by enumeration, and sampled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.special import beta

from handaxe.core.errors import InputError
from handaxe.papers.dllm_agent.denoiser import Denoiser
from handaxe.papers.dllm_agent.masked_loss import corrupt, draw_masks, target_logp
from handaxe.papers.dllm_agent.span_rows import SpanRow

__all__ = ["block_costs", "exact_bound", "sampled_bounds"]

LARGEST = 12
"""Largest enumerated block, of 4,095 sets of masked tokens."""
ROWS = 64
"""Rows of a forward pass."""
Costs = Callable[[np.ndarray], np.ndarray]
"""Sets of masked tokens [R, S] bool -> sum of -log p over the masked tokens of each set [R]."""


def block_costs(model: Denoiser, row: SpanRow, visible_NN: np.ndarray, block: int) -> Costs:
    """Make the function from sets of masked tokens of a block to their summed cross-entropies.

    Args:
        model: the policy.
        row: the conversation; no other block is noised.
        visible_NN: attention mask [N, N].
        block: number of the block, of S tokens.

    Returns:
        The function.

    Raises:
        InputError: no such block.

    Example:
        block_costs(model, row, span_mask(row), 0)(np.eye(3, dtype=bool)) -> [3] costs of each token given the others

    Paper: arXiv:2602.07451 (DLLM Agent), the prediction of masked tokens.
    Differs: nothing.
    """
    place_S = np.flatnonzero(row.predicted & (row.block == block))
    if not len(place_S):
        raise InputError(f"the row has no block {block}; give 0 to {row.block.max()}")

    def costs(masked_RS: np.ndarray) -> np.ndarray:
        parts = [masked_RS[first : first + ROWS] for first in range(0, len(masked_RS), ROWS)]
        return np.concatenate([some(part) for part in parts])

    def some(masked_RS: np.ndarray) -> np.ndarray:
        masked_RN = np.zeros((len(masked_RS), len(row.ids)), bool)
        masked_RN[:, place_S] = masked_RS
        count = len(masked_RS)
        ones_N = np.ones(len(row.ids))
        batch = corrupt([row] * count, [visible_NN] * count, [*masked_RN], [ones_N] * count)
        with torch.no_grad():
            logp_M = target_logp(model, batch).double().numpy()
        return -np.bincount(np.nonzero(masked_RN)[0], weights=logp_M, minlength=count)

    return costs


def exact_bound(costs: Costs, size: int) -> float:
    """Enumerate the expected loss over t and sets of masked tokens: an upper bound on -log p of the block.

        E_t E_M [1/t sum_{n in M} c(n | M)] = sum_M B(|M|, S - |M| + 1) * sum_{n in M} c(n | M),    t ~ U(0, 1)

    B is the beta function, the integral of t^(|M| - 1) (1 - t)^(S - |M|).

    Args:
        costs: of sets of masked tokens.
        size: S, 1 to 12.

    Returns:
        The bound in nats; equal to -log p of the block if the costs are those of one joint distribution.

    Raises:
        InputError: size out of range.

    Example:
        3 tokens: sets of 1, 2 and 3 tokens have the weights 1/3, 1/6 and 1/3; costs of 1 a token give 1 + 1 + 1 = 3

    Paper: arXiv:2602.07451 (DLLM Agent), the objective of masked diffusion.
    Unconfirmed: as `masked_loss`.
    Differs: the paper has no enumeration.
    """
    if not 1 <= size <= LARGEST:
        raise InputError(f"size is {size}: blocks of 1 to {LARGEST} tokens can be enumerated")
    masked_RS = (np.arange(1, 2**size)[:, None] >> np.arange(size)) % 2 == 1
    many_R = masked_RS.sum(axis=1)
    return float((beta(many_R, size - many_R + 1) * costs(masked_RS)).sum())


def sampled_bounds(costs: Costs, row: SpanRow, block: int, *, draws: int, seed: int) -> np.ndarray:
    """Draw single estimates of the bound, as in training: 1/t times the cost of the drawn set of masked tokens.

    Args:
        costs: of sets of masked tokens.
        row: the conversation.
        block: number of the block.
        draws: R estimates.
        seed: of the draws.

    Returns:
        [R] estimates; their mean converges to `exact_bound`, up to the least t of 0.001.

    Example:
        t = 0.5 and one masked token of cost 1 give 2; no masked token gives 0

    Paper: arXiv:2602.07451 (DLLM Agent), the objective of masked diffusion.
    Unconfirmed: as `masked_loss`.
    Differs: nothing.
    """
    rng = np.random.default_rng(seed)
    place_S = np.flatnonzero(row.predicted & (row.block == block))
    drawn = [draw_masks(row, rng) for _ in range(draws)]
    masked_RS = np.stack([masked_N[place_S] for masked_N, _ in drawn])
    t_R = np.array([t_N[place_S[0]] for _, t_N in drawn])
    return costs(masked_RS) / t_R
