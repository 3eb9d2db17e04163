"""Sampling of learning histories by retention probabilities."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["retained_histories", "retention"]


def retention(score_N: np.ndarray) -> np.ndarray:
    """Compute the probability that a history is retained; 1 for all if the scores are equal.

        p_i = (U_i - min U) / (max U - min U)

    Raises:
        InputError: no score, or a score that is not finite.

    Example:
        U = 0.5, 1.5, 2.0  ->  0, 0.667, 1

    Paper: arXiv:2505.15143 (LHF), retention probability by min-max normalization.
    Unconfirmed: the set of histories of minimum and maximum; here all histories.
    """
    score_N = np.asarray(score_N, np.float64)
    if score_N.ndim != 1 or not len(score_N) or not np.isfinite(score_N).all():
        raise InputError("retention: give at least one score, all finite")
    spread = score_N.max() - score_N.min()
    return np.ones_like(score_N) if spread <= 0 else (score_N - score_N.min()) / spread


def retained_histories(score_N: np.ndarray, *, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw histories at random, and retain each draw with its probability, until `count` draws are retained.

    Args:
        score_N: U of the histories.
        count: size of the filtered data, at least 1. Histories may repeat, so that a filtered data set can be as large
            as the unfiltered one.
        rng: of the draws.

    Returns:
        [count] numbers of histories. The history with the lowest score never occurs, unless all scores are equal. A
        history occurs with the share p_i / sum p in expectation.

    Raises:
        InputError: count below 1, or scores as `retention`.

    Example:
        U = 0, 1, 2 and count 300: about 0, 100 and 200 times

    Paper: arXiv:2505.15143 (LHF), sampling until the size of the data set is met.
    Unconfirmed: draws with replacement.
    Differs: nothing known.
    """
    if count < 1:
        raise InputError(f"retained_histories: count is {count}; give at least 1")
    keep_N = retention(score_N)
    kept = np.zeros(0, np.int64)
    while len(kept) < count:
        drawn = rng.integers(len(keep_N), size=2 * count)
        kept = np.concatenate([kept, drawn[rng.random(2 * count) < keep_N[drawn]]])
    return kept[:count]
