"""Measure of the effective rank of hidden states, taken by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["EffectiveRank", "effective_rank", "matrix_rank"]

ROUNDING = 1e-7
"""Largest relative deviation from the mean that rounding of float32 states explains."""


def effective_rank(*, stride: int = 40, most: int = 512) -> EffectiveRank:
    """Measure the effective rank of the hidden states of the policy's tokens up to each token.

        ER(H) = exp(-sum_k p_k log p_k)         p_k = s_k / sum_k s_k,  s: singular values of H - mean(H) [p, D]

    H has the states of the policy's first p tokens of a row, each after that token was read, in the last layer, the
    input of the head. Tokens of tools, users and templates are left out.

    Args:
        stride: tokens between two computed ranks, >= 1; 40 in the paper's released runs. It must equal that of
            `papers.effective_rank.effective_rank_bonus`, which reads these and the last rank alone.
        most: longest prefix, in states; of a longer one the last `most` states count, >= 1; 512 in the released code.

    Returns:
        A HiddenMeasure named "effective_rank": [P, D] -> [P] for one row. It is computed at tokens 0, stride, 2 stride,
        ... and at the last; tokens between repeat the previous value. Between 1 and min(p - 1, D); equal states, such
        as a single one, count as 1. Pass it to `train(annotate=(effective_rank(),))`.

    Raises:
        InputError: stride or most below 1.

    Example:
        singular values 1, 1  ->  2;   3, 1  ->  1.7548;   2, 1, 1  ->  2.8284

    Paper: arXiv:2509.23808 (VERL).
    Differs: the low-rank form of released code, six singular values alone, is left out.
    """
    if stride < 1 or most < 1:
        raise InputError(f"effective_rank has stride={stride} and most={most}; give 1 or more of each")
    return EffectiveRank(stride, most)


@dataclass(frozen=True)
class EffectiveRank:
    """Measure made by `effective_rank`."""

    stride: int
    most: int
    name: str = "effective_rank"

    def __call__(self, hidden_PD: Tensor) -> Tensor:
        """[P] for the states of one row, in float64."""
        count = len(hidden_PD)
        rank_P = hidden_PD.new_zeros(count, dtype=torch.float64)
        for at in range(0, count, self.stride):
            rank_P[at:] = matrix_rank(_centred(hidden_PD[max(0, at + 1 - self.most) : at + 1]))
        if count:
            rank_P[-1] = matrix_rank(_centred(hidden_PD[-self.most :]))
        return rank_P


def matrix_rank(hidden_PD: Tensor) -> Tensor:
    """Compute the effective rank of a matrix."""
    s_K = torch.linalg.svdvals(hidden_PD.double())
    return torch.special.entr(s_K / s_K.sum().clamp_min(torch.finfo(s_K.dtype).tiny)).sum().exp()


def _centred(hidden_PD: Tensor) -> Tensor:
    """States without their mean, in float64; 0 for states that are equal up to rounding."""
    hidden_PD = hidden_PD.double()
    apart_PD = hidden_PD - hidden_PD.mean(0)
    return torch.where(apart_PD.norm() > ROUNDING * hidden_PD.norm(), apart_PD, 0.0)
