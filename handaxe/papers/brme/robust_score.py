"""Scores of an ensemble of Gaussian reward heads: nominal, worst, and the mixture of both."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["RobustScore", "Worst", "robust_score"]

Worst = Literal["rollout", "group"]


class RobustScore(NamedTuple):
    """[G] each: nominal and worst score, their mixture, and the standard deviation that the nominal head states."""

    nominal_G: np.ndarray
    worst_G: np.ndarray
    mixed_G: np.ndarray
    spread_G: np.ndarray


def robust_score(output_GK: np.ndarray, *, nominal_weight: float = 0.6, worst: Worst = "rollout") -> RobustScore:
    """Mix the score of the most certain head with the lowest score.

        nominal_j = mu_{i*, j},   i* = argmin_i s_ij                the head with the least standard deviation
        worst_j   = min_i mu_ij                                     "rollout"
        worst_j   = mu_{h, j},    h = argmin_i mean_j mu_ij         "group": the reward function with the least mean
        mixed_j   = w nominal_j + (1 - w) worst_j

    Args:
        output_GK: [G, 2 n] mean mu and log standard deviation ln s of each of n heads, as of
            `losses.preference.gaussian_nll`.
        nominal_weight: w, 0 to 1. Sources disagree which of the two a weight of the paper multiplies.
        worst: the minimum is of each rollout, or of the mean over the group.

    Returns:
        Scores.

    Raises:
        InputError: a weight out of range, another word, or an odd number of outputs.

    Example:
        heads (1, 0.5), (0.6, 0.2), (0.2, 0.9) of (mu, s): nominal 0.6, worst 0.2, mixed with w = 0.6: 0.44

    Paper: arXiv:2409.15360 (BRME), objective of nominal performance and minimum reward.
    Unconfirmed: whether the minimum is of each rollout or of an expectation, and the paper's weight.
    Differs: nothing known.
    """
    output_GK = np.asarray(output_GK, np.float64)
    if not 0 <= nominal_weight <= 1 or worst not in ("rollout", "group") or output_GK.shape[1] % 2:
        raise InputError(
            f"give a nominal_weight from 0 to 1, worst 'rollout' or 'group', and two outputs a head, not "
            f"{nominal_weight}, {worst!r} and {output_GK.shape[1]} outputs"
        )
    mean_GN, log_std_GN = output_GK[:, 0::2], output_GK[:, 1::2]
    row_G = np.arange(len(output_GK))
    surest_G = log_std_GN.argmin(1)
    nominal_G = mean_GN[row_G, surest_G]
    if worst == "rollout" or not len(mean_GN):
        worst_G = mean_GN.min(1)
    else:
        worst_G = mean_GN[:, mean_GN.mean(0).argmin()]
    mixed_G = nominal_weight * nominal_G + (1 - nominal_weight) * worst_G
    return RobustScore(nominal_G, worst_G, mixed_G, np.exp(log_std_GN[row_G, surest_G]))
