"""Weigh attempts, or turns, by how long they took."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Shape
from handaxe.core.records import Rated, Trajectory
from handaxe.ops.ragged import scatter, turn_of_token

__all__ = ["duration_weight"]

Unit = Literal["rollout", "turn"]


def duration_weight(*, unit: Unit = "rollout", power: float = 1.0, tools_only: bool = False) -> Shape:
    """Undo what a race does: where whatever ends first trains first, what is quick is seen more often.

        A'_i,t = A_i,t * dt^p / mean(dt^p)

    dt are the seconds of trajectory i, the sum over its turns of sampling and of its tools' replies, or those of the
    turn that token t belongs to. The mean is over trajectories (or turns) that train, of the whole batch. In a fixed
    time a worker that plays one thing over and over plays it 1 / dt times, so an action is seen pi(a) / dt times
    where it should be seen pi(a) times. Where a step trains exactly what it launched, as `train` does,
    there is no race, and the weights bring in the bias that they are to take away.

    Args:
        unit: what has a duration: a "rollout", or each "turn" for itself.
        power: p >= 0; 1 in the paper, 0 changes nothing.
        tools_only: count the tools' seconds and no sampling, which attempts that are sampled in one batch share: their
            waiting for each other is no duration of what they do. What called no tool then weighs 0.

    Returns:
        A shape: [Rated] -> [Rated], the same groups in the same order. What does not train is neither counted nor
        changed. Where nothing took any time, nothing is changed. Value targets, channels and what trains stay as they
        are.

    Raises:
        InputError: another word for `unit`, a power that is negative or infinite.

    Example:
        seconds 1 and 10  ->  weights 0.1818 and 1.8182

    Paper: arXiv:2509.01684, duration-aware gradient updates.
    Unconfirmed: that the batch's mean divides the durations.
    Differs: nothing known.
    """
    if unit not in ("rollout", "turn"):
        raise InputError(f"duration_weight takes unit='rollout' or 'turn', not {unit!r}")
    if not (power >= 0 and isfinite(power)):
        raise InputError(f"power is {power}; give a number from 0")

    def shape(rated: Sequence[Rated]) -> list[Rated]:
        if not power:
            return list(rated)
        found = [[_seconds(trajectory, unit, tools_only) ** power for trajectory in one.group] for one in rated]
        counted = [own[i][_that_train(one, i, unit)] for one, own in zip(rated, found) for i in range(len(one.group))]
        every = np.concatenate([np.zeros(0), *counted])
        mean = float(every.mean()) if len(every) else 0.0
        return [_weighted(one, own, mean) if mean else one for one, own in zip(rated, found, strict=True)]

    return shape


def _seconds(trajectory: Trajectory, unit: Unit, tools_only: bool) -> np.ndarray:
    """[N] of each turn; [1] of a rollout."""
    tools_N = np.array([sum(reply.seconds for reply in turn.replies) for turn in trajectory.turns], float)
    turns_N = tools_N if tools_only else tools_N + np.array([turn.seconds for turn in trajectory.turns], float)
    return turns_N if unit == "turn" else turns_N.sum(keepdims=True)


def _that_train(one: Rated, i: int, unit: Unit) -> np.ndarray:
    """[N] bool of turns, [1] of a rollout: whether a token of it trains."""
    trains_N = np.zeros(len(one.group[i].turns), bool)
    trains_N[turn_of_token(one.group[i])[_tokens_that_train(one, i)]] = True
    return trains_N if unit == "turn" else np.array([trains_N.any()])


def _tokens_that_train(one: Rated, i: int) -> np.ndarray:
    """[P] bool: of the policy's tokens."""
    masks = zip(one.group[i].sequences, one.training_mask(i), strict=True)
    return np.concatenate([np.zeros(0, bool), *(trains_T[sequence.mask] for sequence, trains_T in masks)])


def _weighted(one: Rated, seconds: Sequence[np.ndarray], mean: float) -> Rated:
    tokens = list(one.advantages.tokens)
    for i in np.flatnonzero(one.trained):
        trajectory, own = one.group[int(i)], seconds[int(i)] / mean
        factor = own[turn_of_token(trajectory)] if len(own) == len(trajectory.turns) else own
        factor = np.where(_tokens_that_train(one, int(i)), factor, 1.0)
        scaled = zip(tokens[i], scatter(trajectory, factor), strict=True)
        tokens[i] = tuple(adv_T * factor_T for adv_T, factor_T in scaled)
    return replace(one, advantages=replace(one.advantages, tokens=tuple(tokens)))
