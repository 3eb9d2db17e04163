"""Returns, advantages and normalization over plain arrays: the steps of a trajectory, the rewards of a group.

A step is a token or a turn, at the caller's choice. These functions know no masks: `handaxe.ops.ragged` removes tokens
that the policy did not sample before and restores them after.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError

__all__ = [
    "EQUALITY_TOLERANCE",
    "LoneReward",
    "Std",
    "discounted_returns",
    "gae_advantages",
    "standard_deviation",
    "standardise",
    "whiten",
]

Std = Literal["sample", "population"]
LoneReward = Literal["zero", "reward"]

EQUALITY_TOLERANCE = 1e-8
"""Rewards closer than this, relative to the larger of their magnitude and 1, count as equal."""


def discounted_returns(rewards: np.ndarray | Sequence[float], gamma: float = 1.0) -> np.ndarray:
    """Compute the discounted return of each step.

        G_t = sum_{s >= t} gamma^(s - t) * r_s

    Args:
        rewards: [T], of each step.
        gamma: discount, in [0, 1], per step.

    Returns:
        [T] float64.

    Example:
        rewards 1, 0, 2 with gamma 0.5  ->  1.5, 1, 2
    """
    out = np.array(rewards, np.float64)
    for t in range(len(out) - 2, -1, -1):
        out[t] += gamma * out[t + 1]
    return out


def gae_advantages(
    rewards: np.ndarray | Sequence[float],
    values: np.ndarray | Sequence[float],
    *,
    gamma: float,
    lam: float,
    last_value: float = 0.0,
) -> np.ndarray:
    """Compute generalized advantage estimates, which trade a critic's bias against the variance of returns.

        delta_t = r_t + gamma * V_{t+1} - V_t          V_T = last_value
        A_t     = delta_t + gamma * lam * A_{t+1}    A_T = 0

    Args:
        rewards: [T], of each step.
        values: [T], the critic's value of the state before each step.
        gamma: discount, in [0, 1], per step.
        lam: lambda, in [0, 1]; 1 is the return minus the value, 0 the one-step error.
        last_value: value of the state after the last step; 0 for a terminal state.

    Returns:
        [T] float64. The value targets are the advantages plus `values`.

    Example:
        rewards 0, 0, 1, values 0.5, 0.6, 0.8:
        gamma 1, lam 0.95   ->  0.4705, 0.39, 0.2
        gamma 0.9, lam 0.8  ->  0.23008, 0.264, 0.2

    Paper: arXiv:1506.02438, equation 16.
    """
    rewards, values = np.asarray(rewards, np.float64), np.asarray(values, np.float64)
    following = np.append(values[1:], last_value)[: len(values)]
    return discounted_returns(rewards + gamma * following - values, gamma * lam)


def standard_deviation(
    values: np.ndarray | Sequence[float], std: Std = "sample", *, weights: np.ndarray | None = None
) -> float:
    """Compute the standard deviation of [N] numbers; exactly 0 for none, one, or numbers equal up to rounding.

    Numbers are equal up to rounding if their range is at most 1e-8 times the larger of the largest magnitude and 1:
    sums of 0.1 in different orders are one number.

    Args:
        std: "sample" divides by N - 1, "population" by N.
        weights: [N] above 0; None for equal weights. With w_n that sum to 1, the variance is sum_n w_n (x_n - mean)^2,
            for "sample" over 1 - sum_n w_n^2.

    Example:
        1, 0, 0, 0  ->  0.5 sample, 0.4330 population
        1, 0 with weights 3 and 1  ->  0.7071 sample, 0.4330 population
    """
    values = np.asarray(values, np.float64)
    if len(values) < 2 or np.ptp(values) <= EQUALITY_TOLERANCE * max(1.0, float(np.abs(values).max())):
        return 0.0
    if weights is None:
        return float(values.std(ddof={"sample": 1, "population": 0}[std]))
    share = weights / weights.sum()
    variance = share @ (values - share @ values) ** 2
    return float(np.sqrt(variance / {"sample": 1 - share @ share, "population": 1.0}[std]))


def standardise(
    rewards: np.ndarray | Sequence[float],
    counted: np.ndarray | Sequence[bool] | None = None,
    *,
    std: Std | None = "sample",
    eps: float = 1e-6,
    lone: LoneReward = "zero",
    weights: np.ndarray | Sequence[float] | None = None,
) -> np.ndarray:
    """Normalize numbers within a group.

        A_i = (r_i - mean) / (std + eps)     or r_i - mean if `std` is None

    Args:
        rewards: [G].
        counted: [G] bool, True for numbers that enter mean and std and get a value; the others get exactly 0.
        std: "sample" (n - 1), "population" (n), or None for no division.
        lone: value of a single counted number: "zero", or "reward" for the number itself (mean 0, std 1).
        weights: [G] above 0, of the numbers in mean and std, see `standard_deviation`; None for equal weights.

    Returns:
        [G] float64; exactly 0 throughout if the counted rewards are equal up to rounding (see `standard_deviation`).

    Example:
        1, 0, 0, 0  ->  1.5, -0.5, -0.5, -0.5
    """
    rewards = np.asarray(rewards, np.float64)
    counted = np.ones(len(rewards), bool) if counted is None else np.asarray(counted, bool)
    out, chosen = np.zeros(len(rewards)), rewards[counted]
    if len(chosen) == 1 and lone == "reward":
        out[counted] = chosen
        return out
    weighing = None if weights is None else np.asarray(weights, np.float64)[counted]
    scale = standard_deviation(chosen, std or "population", weights=weighing)
    if scale:
        centred = chosen - (chosen.mean() if weighing is None else np.average(chosen, weights=weighing))
        out[counted] = centred if std is None else centred / (scale + eps)
    return out


def whiten(
    values: np.ndarray | Sequence[float], *, centre: bool = True, std: Std = "sample", eps: float = 1e-8
) -> np.ndarray:
    """Transform numbers to mean 0 and variance 1.

        w = (x - mean) / sqrt(var + eps)      plus mean again if `centre` is False

    Returns:
        [N] float64. Fewer than two numbers, or numbers equal up to rounding, are shifted and not scaled.

    Raises:
        InputError: `eps` is negative.

    Example:
        1, 1, 0  ->  0.57735, 0.57735, -1.15470
    """
    if eps < 0:
        raise InputError(f"eps is {eps}; it must not be negative, because a variance plus eps is a divisor")
    values = np.asarray(values, np.float64)
    if not len(values):
        return values.copy()
    mean, scale = values.mean(), standard_deviation(values, std)
    centred = (values - mean) / np.sqrt(scale**2 + eps) if scale else np.zeros(len(values))
    return centred if centre else centred + mean
