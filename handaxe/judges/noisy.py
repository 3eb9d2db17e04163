"""Adds reproducible errors to a judge: the same error for the same step."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Check, StepJudge
from handaxe.core.records import Criterion, Group, Trajectory
from handaxe.ops.seeds import generator

__all__ = ["Noisy", "noisy", "noisy_check"]


def noisy(*, judge: StepJudge, spread: float = 0.1, flip: float = 0.0, centre: float = 0.0, seed: int = 0) -> Noisy:
    """Add noise to a judge's step scores, and flip some around a centre.

        r'_k = clip(c + s_k (r_k - c) + spread z_k, -1, 1)   z_k ~ N(0, 1), s_k = -1 with probability `flip`, else 1

    z_k and s_k are rng from the seed and the text up to the end of step k. So the same step in the same place has the
    same error in every rollout, at every time and on both sides of a claim.

    Args:
        judge: receives the errors.
        spread: standard deviation of the noise, >= 0.
        flip: probability of a flipped score, 0 to 1.
        centre: c, the middle of the scale: 0 for scores from -1 to 1, 0.5 for scores from 0 to 1.
        seed: of the errors.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. It does not learn; if `judge` learns,
        list `judge` among the learners.

    Raises:
        InputError: spread or flip out of range.

    Example:
        spread 0, flip 1 on steps 0.8, -0.6  ->  -0.8, 0.6        spread 0, flip 0  ->  0.8, -0.6

    Idea: errors of a reward model are a function of its input, and not fresh noise that averages out.
    """
    if spread < 0 or not 0 <= flip <= 1:
        raise InputError(f"noisy takes a spread from 0 and a flip from 0 to 1, not {spread} and {flip}")
    return Noisy(judge, spread, flip, centre, seed)


class Noisy:
    """See `noisy`."""

    def __init__(self, judge: StepJudge, spread: float, flip: float, centre: float, seed: int):
        self._judge = judge
        self._spread = spread
        self._flip = flip
        self._centre = centre
        self._seed = seed

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        return tuple(
            self._with_errors(one, own) for one, own in zip(group, self._judge.score_steps(group), strict=True)
        )

    def _with_errors(self, trajectory: Trajectory, values: np.ndarray) -> np.ndarray:
        out = np.array(values, np.float64)
        for k in range(len(trajectory.turns)):
            rng = generator("noisy", self._seed, _prefix_digest(trajectory, k))
            sign = -1.0 if rng.random() < self._flip else 1.0
            value = self._centre + sign * (out[k] - self._centre)
            out[k] = np.clip(value + self._spread * rng.standard_normal(), -1.0, 1.0)
        return out


def noisy_check(*, check: Check, flip: float, seed: int = 0) -> Check:
    """Flip verdicts of a check, the same for the same step, criterion and place.

        met'_cn = met_cn xor s_cn        s_cn = 1 with probability `flip`, by the text up to the end of turn n

    Args:
        check: receives the errors.
        flip: probability of a flipped verdict, 0 to 1.
        seed: of the errors.

    Raises:
        InputError: flip out of range.

    Example:
        flip 1 on [[False, True]]  ->  [[True, False]], which the credit of criteria reads as met from the first turn on

    Idea: as `noisy`.
    """
    if not 0 <= flip <= 1:
        raise InputError(f"flip is {flip}; give a probability")

    def flipped(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        met_CN = np.array(check(trajectory, criteria), bool)
        for n in range(len(trajectory.turns)):
            digest = _prefix_digest(trajectory, n)
            for c, criterion in enumerate(criteria):
                met_CN[c, n] ^= generator("noisy check", seed, criterion.name, digest).random() < flip
        return met_CN

    return flipped


def _prefix_digest(trajectory: Trajectory, turn: int) -> str:
    """Digest of the tokens up to the end of a turn."""
    own = trajectory.turns[turn]
    prefix = trajectory.sequences[own.sequence].ids[: own.stop]
    return hashlib.sha256(np.asarray(prefix, np.int64).tobytes()).hexdigest()
