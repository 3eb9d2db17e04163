"""Entropy of a step by its first tokens, and the place of a branch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["SIZES", "StepEntropy", "most_uncertain", "step_entropy"]

SIZES = (10, 20, 30, 40, 50)
"""Numbers of first tokens in the paper's released code."""


class StepEntropy(NamedTuple):
    """Greatest mean entropy over first tokens of a step, in nats, and the number of these tokens."""

    entropy: float
    tokens: int


def step_entropy(entropy_T: Sequence[float], *, sizes: Sequence[int] = SIZES) -> StepEntropy:
    """Take the greatest mean entropy over the first n tokens of a step.

        H_n = (1 / n) sum_{t < n} H_t        max over n in `sizes` with n <= T; H_T if the step is shorter than all

    H_t is the entropy of the policy before token t. Ties go to the smaller n.

    Args:
        entropy_T: [T] nats, T >= 1: of all tokens of the step, or of the first max(sizes).
        sizes: numbers of tokens, each >= 1; 10, 20, ..., 50 in the paper.

    Returns:
        The greatest H_n, and its n.

    Raises:
        InputError: a step without tokens; no size, or a size below 1.

    Example:
        H_t 0.6931, 0 and sizes 1, 2  ->  H_1 0.6931, H_2 0.3466  ->  (0.6931, 1);  sizes 2  ->  (0.3466, 2)

    Paper: arXiv:2509.23285 (Tool-Light), entropy-guided sampling.
    Differs: H_t is of the whole vocabulary; the released code sums -p log p over the 50 likeliest tokens.
    Unconfirmed: a step that is shorter than the smallest size.
    """
    if not sizes or min(sizes) < 1:
        raise InputError(f"step_entropy has the sizes {tuple(sizes)}; give one number of tokens or more, each above 0")
    if not len(entropy_T):
        raise InputError("step_entropy has a step without tokens; give the entropy of one token or more")
    mean_T = np.cumsum(np.asarray(entropy_T, np.float64)) / np.arange(1, len(entropy_T) + 1)
    fitting = [n for n in sorted(sizes) if n <= len(mean_T)] or [len(mean_T)]
    tokens = max(fitting, key=lambda n: mean_T[n - 1])
    return StepEntropy(float(mean_T[tokens - 1]), tokens)


def most_uncertain(steps: Sequence[StepEntropy], *, count: int) -> list[int]:
    """Choose the steps with the greatest entropy.

    Args:
        steps: of a chain, in order.
        count: maximum number.

    Returns:
        Indices of steps, the most uncertain first; ties go to the earlier step.

    Example:
        entropies 0.2, 0.9, 0.5, 0.7 and count 3  ->  1, 3, 2

    Paper: arXiv:2509.23285 (Tool-Light), entropy-guided sampling; the three steps with the greatest entropy.
    Differs: nothing.
    """
    return sorted(range(len(steps)), key=lambda k: (-steps[k].entropy, k))[:count]
