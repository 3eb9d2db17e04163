"""Failure detector: a logistic regression on the turns of an attempt so far."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory

if TYPE_CHECKING:
    from scipy import optimize, special
else:
    optimize = DeferredModule("scipy.optimize")
    special = DeferredModule("scipy.special")

__all__ = ["FailureDetector", "failure_detector", "first_alarm", "turn_features"]


class FailureDetector:
    """Probability of failure after each turn of an attempt; made by `failure_detector`.

    Args:
        weight_D: of the features.
        turns: T, maximum turns of an attempt.
    """

    def __init__(self, weight_D: np.ndarray, turns: int):
        self.weight_D = weight_D
        self.turns = turns

    def probabilities(self, one: Trajectory) -> np.ndarray:
        """Return the probability of failure after each turn, [K]."""
        return np.asarray(special.expit(turn_features(one, self.turns) @ self.weight_D))


def failure_detector(
    attempts: Sequence[Trajectory], success_N: Sequence[bool], *, turns: int, penalty: float = 1.0
) -> FailureDetector:
    """Fit the detector to the beginnings of recorded attempts.

        P(failure | turns 1..k)  =  sigmoid(w . x_k)
        w  =  argmin over w of  sum over attempts and k < K of cross-entropy + penalty / 2 |w|^2

    K is the number of turns of an attempt: the last turn needs no prediction.

    Args:
        attempts: undisturbed, each with its outcome.
        success_N: True for a success.
        turns: T, maximum turns of an attempt.
        penalty: of the squared weights, > 0.

    Returns:
        The detector.

    Raises:
        InputError: attempts of a single outcome, lists of unequal length, or numbers out of range.

    Example:
        attempts that fail iff the first call failed  ->  probability above 0.5 after such a call, below it otherwise

    Paper: arXiv:2301.10846 (Restart policy), the learned failure predictor.
    Differs: a logistic regression on turns, where the paper has a dilated convolutional network on forces and torques.
    """
    if len(attempts) != len(success_N) or len(set(map(bool, success_N))) < 2 or not penalty > 0:
        raise InputError(
            f"{len(attempts)} attempts with {len(success_N)} outcomes, {sum(success_N)} of them successes, and penalty "
            f"{penalty}: give one outcome an attempt, successes and failures, and a penalty above 0"
        )
    rows = [turn_features(one, turns)[:-1] for one in attempts]
    x_ND = np.concatenate(rows)
    sign_N = np.concatenate([np.full(len(own), -1.0 if won else 1.0) for own, won in zip(rows, success_N)])

    def loss(weight_D: np.ndarray) -> tuple[float, np.ndarray]:
        margin_N = sign_N * (x_ND @ weight_D)
        value = float(np.logaddexp(0.0, -margin_N).sum() + penalty / 2 * weight_D @ weight_D)
        return value, penalty * weight_D - x_ND.T @ (sign_N * special.expit(-margin_N))

    fitted = optimize.minimize(loss, np.zeros(x_ND.shape[1]), jac=True, method="L-BFGS-B")
    return FailureDetector(np.asarray(fitted.x), turns)


def turn_features(one: Trajectory, turns: int) -> np.ndarray:
    """Compute the features after each turn of an attempt.

        x_k  =  [k = 1], ..., [k = T],  share of failed replies,  share of replies seen before,  [last reply failed],
                mean log-prob of the tokens of turn k

    Returns:
        [K, T + 4], a row a turn.

    Raises:
        InputError: more turns than T.

    Example:
        T 2, replies "wall" (failed) and "wall" (failed), log-probs -0.1 and -0.3
        ->  1 0  1 0  1 -0.1;   0 1  1 0.5  1 -0.3
    """
    if len(one.turns) > turns:
        raise InputError(f"trajectory {one.id!r} has {len(one.turns)} turns; give turns={len(one.turns)} or more")
    x_KD = np.zeros((len(one.turns), turns + 4))
    seen: set[str] = set()
    replies = failures = repeats = 0
    for k, turn in enumerate(one.turns):
        for reply in turn.replies:
            replies += 1
            failures += reply.status != "ok"
            repeats += reply.content in seen
            seen.add(reply.content)
        last = turn.replies[-1].status != "ok" if turn.replies else False
        logp_T = one.sequences[turn.sequence].logp[turn.start : turn.stop]
        x_KD[k, k] = 1.0
        x_KD[k, turns:] = (
            failures / max(replies, 1),
            repeats / max(replies, 1),
            float(last),
            float(logp_T.mean()) if len(logp_T) else 0.0,
        )
    return x_KD


def first_alarm(probability_K: np.ndarray, threshold: float) -> float:
    """Return the number of the first turn before the last one with a probability above the threshold; inf for none.

    Example:
        0.2, 0.7, 0.9 at 0.5  ->  2;   0.2, 0.9 at 0.5  ->  inf, since the attempt is over
    """
    above = np.flatnonzero(probability_K[:-1] > threshold)
    return float(above[0] + 1) if len(above) else inf
