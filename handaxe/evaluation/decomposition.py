"""Joint and separate normalization of a reward with two parts, and the effect on the gradient.

    joint   A = norm(r_1 + r_2)        separate   A = norm(r_1) + norm(r_2)        norm: by mean and std of the group

Within a group with spreads 1 and s of the parts and the correlation c, both follow from arithmetic:

    cos(angle between them) = (1 + s) sqrt((1 + c) / 2) / sqrt(1 + s^2 + 2 s c)
    length separate / joint = sqrt(2 + 2 c)

So both point in the same direction at equal spreads, at any correlation, and differ at unequal spreads, also for
uncorrelated parts: with separate normalization, the part with the smaller spread has equal weight. But a group has its
own spreads. In a group with two distinct rollouts, every part becomes +-1, and separate can be 0 where joint is not: in
small groups the gradients differ although the spreads over the process are equal. The size of the effect is a finite
sum over all groups of the process of `testing.mdp`; nothing is sampled.

Paper: arXiv:2604.19857 (TA-MDP), joint and decomposed optimisation of composite rewards.
Unconfirmed: the abstract alone was read; its theorems are not restated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.returns import EQUALITY_TOLERANCE
from handaxe.testing.mdp import StopOrGo, exact_gradient

__all__ = [
    "Decomposition",
    "EVEN",
    "angle_between",
    "case_angles",
    "compare_normalization",
    "gradients",
    "group_angle",
    "two_parts",
]

EVEN = StopOrGo(logits=(float(np.log(3)), float(np.log(2)), 0.0))
"""The process under a policy with probability 1/4 for each of its four rollouts."""


class Decomposition(NamedTuple):
    """Effect of separate normalization at a correlation and a ratio of spreads.

    within_angle, within_length   of the advantages of a group with exactly these: degrees between separate and joint,
    and
                                  the length of separate relative to joint
    angle, length                 likewise, of the mean gradients over all groups of the process
    joint_bias, separate_bias     degrees between each and the true gradient of the sum
    """

    correlation: float
    spread: float
    within_angle: float
    within_length: float
    angle: float
    length: float
    joint_bias: float
    separate_bias: float


def group_angle(correlation: float, spread: float) -> tuple[float, float]:
    """Degrees between the separate and joint advantages of a group, and the ratio of lengths; see the module.

    Example:
        (0.5, 1) -> 0 degrees, 1.732;  (0, 5) -> 33.7 degrees, 1.414
    """
    cosine = (1 + spread) * np.sqrt((1 + correlation) / 2) / np.sqrt(1 + spread**2 + 2 * spread * correlation)
    return float(np.degrees(np.arccos(min(1.0, cosine)))), float(np.sqrt(2 + 2 * correlation))


def two_parts(world: StopOrGo, correlation: float, spread: float) -> np.ndarray:
    """[2, N + 1] rewards of each rollout of the process by part: mean 0, spreads 1 and `spread`, exact correlation,
    under the probabilities of the rollouts.

    The first part follows the outcome; the independent share of the second follows the number of turns.

    Raises:
        InputError: a correlation outside (-1, 1], or a spread that is not above 0.
    """
    if not (-1 < correlation <= 1 and spread > 0):
        raise InputError(
            f"correlation is {correlation} and spread {spread}; give more than -1 up to 1, and more than 0"
        )
    attempts = range(len(world.logits) + 1)
    chance_A = np.array([np.exp(world.logp(attempt).sum()) for attempt in attempts])
    first_A = _standard(np.array(world.outcome), chance_A)
    turns_A = _standard(np.array([float(len(world.actions(attempt))) for attempt in attempts]), chance_A)
    other_A = _standard(turns_A - (chance_A * turns_A * first_A).sum() * first_A, chance_A)
    return np.stack([first_A, spread * (correlation * first_A + np.sqrt(1 - correlation**2) * other_A)])


def compare_normalization(correlation: float, spread: float, *, size: int = 4, world: StopOrGo = EVEN) -> Decomposition:
    """Compare joint and separate normalization.

    Args:
        correlation: of the two parts, in (-1, 1].
        spread: standard deviation of the second part, as a multiple of the first's.
        size: siblings a group.
        world: process with rollouts and probabilities; its rewards are replaced.
    """
    earned_KA = two_parts(world, correlation, spread)
    joint, separate = gradients(world, earned_KA, size)
    none = (0.0,) * len(world.logits)
    true = exact_gradient(StopOrGo(world.logits, none, none, tuple(earned_KA.sum(0).tolist())))
    length = float(np.linalg.norm(separate) / np.linalg.norm(joint))
    angle, joint_bias, separate_bias = (
        angle_between(*pair) for pair in ((separate, joint), (joint, true), (separate, true))
    )
    within = group_angle(correlation, spread)
    return Decomposition(correlation, spread, *within, angle, length, joint_bias, separate_bias)


def case_angles(*, size: int, small: int, spread: float) -> dict[str, float]:
    """Degrees between the separate and joint gradients, of four cases.

    Args:
        size, small: siblings of a large group and of a small one.
        spread: of the second part in the cases with unequal spreads.

    Returns:
        uncorrelated (correlation 0, unequal spreads), uncorrelated_equal, correlated_equal (correlation 0.5) and
        small_groups (correlation 0.5, equal spreads, small groups).
    """
    cases = {
        "uncorrelated": (0.0, spread, size),
        "uncorrelated_equal": (0.0, 1.0, size),
        "correlated_equal": (0.5, 1.0, size),
        "small_groups": (0.5, 1.0, small),
    }
    return {
        name: compare_normalization(correlation, s, size=count).angle for name, (correlation, s, count) in cases.items()
    }


def gradients(world: StopOrGo, earned_KA: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """[N] each, joint and separate: 1/G sum_i A_i d log p(rollout i), averaged over all groups of `size` siblings.

    Args:
        world: process with rollouts and probabilities.
        earned_KA: [K, N + 1] rewards of each rollout by part.
        size: G.
    """
    attempts = range(len(world.logits) + 1)
    # Siblings in another order are the same group: M groups, each as often as its attempts can be ordered.
    made_MG = np.array(list(combinations_with_replacement(attempts, size)))
    count_MA = (made_MG[:, :, None] == np.array(attempts)).sum(1)
    orders_M = np.array([factorial(size) / np.prod([float(factorial(n)) for n in row]) for row in count_MA.tolist()])
    chance_A = np.array([np.exp(world.logp(attempt).sum()) for attempt in attempts])
    chance_M = orders_M * (chance_A**count_MA).prod(1)
    slope_AN = np.array([np.pad(score := world.score(a), (0, len(world.logits) - len(score))) for a in attempts])

    def mean(adv_MG: np.ndarray) -> np.ndarray:
        found_N: np.ndarray = np.einsum("m,mg,mgn->n", chance_M, adv_MG, slope_AN[made_MG]) / size
        return found_N

    separate_MG = sum((_norm(own_A[made_MG]) for own_A in earned_KA), np.zeros(made_MG.shape))
    return mean(_norm(earned_KA.sum(0)[made_MG])), mean(separate_MG)


def angle_between(left: Sequence[float] | np.ndarray, right: Sequence[float] | np.ndarray) -> float:
    """Degrees between two vectors."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    return float(np.degrees(np.arccos(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))))


def _standard(values_A: np.ndarray, chance_A: np.ndarray) -> np.ndarray:
    """Standardize to mean 0 and spread 1 under the probabilities."""
    centred_A = values_A - (chance_A * values_A).sum()
    standard_A: np.ndarray = centred_A / np.sqrt((chance_A * centred_A**2).sum())
    return standard_A


def _norm(reward_MG: np.ndarray) -> np.ndarray:
    """As `ops.returns.standardise` with the population's std and without eps, group by group."""
    centred_MG = reward_MG - reward_MG.mean(1, keepdims=True)
    equal_M = np.ptp(reward_MG, axis=1) <= EQUALITY_TOLERANCE * np.maximum(1.0, np.abs(reward_MG).max(1))
    spread_M = np.where(equal_M, np.inf, np.sqrt((centred_MG**2).mean(1)))
    normed_MG: np.ndarray = centred_MG / spread_M[:, None]
    return normed_MG
