"""Preferences by a ranking of factors: the first factor that differs decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs, Reward
from handaxe.core.records import Group, Pair, RatedGroup, Scores, Trajectory
from handaxe.selection.pairs.ordered import siblings_with_values

__all__ = ["Factor", "TOOL_FACTORS", "call_failures", "first_winner", "linear_factors", "ranked_factors"]

CORRECT = "correct"
"""Channel of the scores that is the first factor."""


class Factor(NamedTuple):
    """Number of a rollout, better if high (sign 1) or low (sign -1). margin: in standard deviations."""

    name: str
    value: Callable[[Trajectory], float]
    sign: int = -1
    margin: float = 1.0


def call_failures(one: Trajectory) -> float:
    """Number of malformed and of failed calls.

    Example:
        a call that is not closed, and a call with the status "failed" -> 2
    """
    return float(sum(len(turn.parsed.errors) + sum(own.status != "ok" for own in turn.replies) for turn in one.turns))


TOOL_FACTORS = (
    Factor("failures", call_failures, margin=0.0),
    Factor("calls", lambda one: float(len(one.calls)), margin=0.0),
    Factor("tokens", lambda one: float(one.num_tokens)),
)
"""Factors below correctness: fewer failed calls, then fewer calls, then fewer sampled tokens."""


def ranked_factors(
    *, factors: Sequence[Factor] = TOOL_FACTORS, channel: str | None = CORRECT, most: int | None = None
) -> Pairs:
    """Make a pair of every two siblings with a winner by the ranking of factors.

        z_1 = outcome of the channel,  z_l = sign_l * value of factor l
        for l = 1, 2, ...:   i wins if z_l(i) > z_l(j) + delta_l;   j wins if z_l(j) > z_l(i) + delta_l
        delta_1 = 0,  delta_l = margin_l * standard deviation of z_l over all rollouts given;   no winner: no pair

    No weight of a factor is needed.

    Args:
        factors: in order of importance, after the outcome.
        channel: of the scores with the outcome; None: their outcome.
        most: pairs of a group at most, the first by sample; None for all.

    Returns:
        Pairs of strength 1.

    Raises:
        InputError: `most` below 1, a sign other than 1 and -1, a negative margin, or a group without the channel.

    Example:
        correctness 1 and 1, calls 3 and 2 with margin 1: standard deviation 0.5, -2 > -3 + 0.5, so the second wins;
        with a margin of 3 there is no pair

    Paper: arXiv:2309.02632 (HERON), decision tree over ranked factors, as in its released code.
    Differs: standard deviations are over the rollouts of a call, where the code has a buffer.
    """
    if (most is not None and most < 1) or any(one.sign not in (1, -1) or one.margin < 0 for one in factors):
        raise InputError("give signs of 1 or -1, margins from 0, and 1 pair or more")

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        values = [_values(one.group, factors) for one in rated]
        every_NL = np.concatenate([np.zeros((0, len(factors))), *values])
        std_L = every_NL.std(0) if len(every_NL) else np.zeros(len(factors))
        delta_L = np.array([0.0, *(one.margin * std for one, std in zip(factors, std_L, strict=True))])
        return [pair for one, own in zip(rated, values, strict=True) for pair in _compared(one, own, delta_L)]

    def _compared(one: RatedGroup, value_GL: np.ndarray, delta_L: np.ndarray) -> list[Pair]:
        truth_G, scored = siblings_with_values(one, channel)
        row_GL = np.column_stack([truth_G, value_GL])
        found = list[Pair]()
        for place, i in enumerate(scored):
            for j in scored[place + 1 :]:
                if side := first_winner(row_GL[i], row_GL[j], delta_L):
                    better, worse = (i, j) if side > 0 else (j, i)
                    found.append(Pair(one.group[better], one.group[worse]))
        return found[:most]

    return pairs


def first_winner(first_L: np.ndarray, second_L: np.ndarray, delta_L: np.ndarray) -> int:
    """Return 1 or -1 for the winner at the first level with a difference above the margin, 0 without a winner.

    Example:
        (1, -3) and (1, -2) with margins (0, 0.5) -> -1;  with (0, 1.5) -> 0
    """
    for a, b, delta in zip(first_L, second_L, delta_L, strict=True):
        if a > b + delta:
            return 1
        if b > a + delta:
            return -1
    return 0


def _values(group: Group, factors: Sequence[Factor]) -> np.ndarray:
    """[G, L] signed values of the factors below the outcome."""
    return np.array([[f.sign * f.value(one) for f in factors] for one in group], np.float64).reshape(-1, len(factors))


def linear_factors(
    *, outcome: Reward, weights: Sequence[float] = (0.3, 0.1, 0.0), factors: Sequence[Factor] = TOOL_FACTORS
) -> Reward:
    """Reward a weighted sum of outcome and factors, as reward engineering does.

        R_i = outcome_i + sum_l weight_l sign_l value_l

    Args:
        outcome: correctness.
        weights: one a factor.
        factors: below the outcome.

    Returns:
        A reward.

    Raises:
        InputError: other numbers of weights and factors.

    Example:
        a correct rollout with one failed call of two: 1 - 0.3 - 0.2 = 0.5

    Paper: arXiv:2309.02632 (HERON), the baseline of reward engineering.
    Differs: the weights are not tuned.
    """
    if len(weights) != len(factors):
        raise InputError(f"{len(weights)} weights for {len(factors)} factors; give one each")

    def reward(group: Group) -> Scores:
        return Scores(outcome(group).outcome + _values(group, factors) @ np.asarray(weights, np.float64))

    return reward
