"""Adds reproducible errors to a judge: the same error for the same step."""

from __future__ import annotations

import hashlib

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group, Trajectory
from handaxe.ops.seeds import generator

__all__ = ["Noisy", "noisy"]


def noisy(*, judge: StepJudge, spread: float = 0.1, flip: float = 0.0, seed: int = 0) -> Noisy:
    """Add noise to a judge's step scores, and flip the sign of some.

        r'_k = clip(s_k r_k + spread z_k, -1, 1)        z_k ~ N(0, 1), s_k = -1 with probability `flip`, else 1

    z_k and s_k are rng from the seed and the text up to the end of step k. So the same step in the same place has the
    same error in every rollout, at every time and on both sides of a claim.

    Args:
        judge: receives the errors.
        spread: standard deviation of the noise, >= 0.
        flip: probability of a flipped sign, 0 to 1.
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
    return Noisy(judge, spread, flip, seed)


class Noisy:
    """See `noisy`."""

    def __init__(self, judge: StepJudge, spread: float, flip: float, seed: int):
        self._judge = judge
        self._spread = spread
        self._flip = flip
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
        for k, turn in enumerate(trajectory.turns):
            prefix = trajectory.sequences[turn.sequence].ids[: turn.stop]
            rng = generator("noisy", self._seed, hashlib.sha256(np.asarray(prefix, np.int64).tobytes()).hexdigest())
            sign = -1.0 if rng.random() < self._flip else 1.0
            out[k] = np.clip(sign * out[k] + self._spread * rng.standard_normal(), -1.0, 1.0)
        return out
