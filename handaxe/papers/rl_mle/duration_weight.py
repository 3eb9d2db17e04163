"""Advantages weighted by the duration of rollouts or turns."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import scatter, token_turn_indices

__all__ = ["duration_weight"]

Unit = Literal["rollout", "turn"]


def duration_weight(*, unit: Unit = "rollout", power: float = 1.0, tools_only: bool = False) -> AdvantageTransform:
    """Weight advantages by duration, to undo the bias of a race in which fast rollouts train more often.

        A'_i,t = A_i,t * dt^p / mean(dt^p)

    dt are the seconds of trajectory i, sampling and tool replies summed over its turns, or those of the turn of token
    t. The mean is over trained trajectories (or turns) of the whole batch. Within a fixed time a worker that repeats
    one action plays it 1 / dt times, so that an action is observed with frequency pi(a) / dt instead of pi(a). A step
    that trains exactly the rollouts it launched, as `train` does by default, has no race, and the weights add a bias.

    Args:
        unit: unit of a duration: a "rollout" or a "turn".
        power: p >= 0; 1 in the paper, 0 changes nothing.
        tools_only: count the tools' seconds without sampling, which rollouts of one batch share. A rollout without a
            tool call then has weight 0.

    Returns:
        A transform: [RatedGroup] -> [RatedGroup], the same groups in the same order. Masked rollouts are neither
        counted nor changed. Nothing changes if all durations are 0. Value targets, channels and masks are unchanged.

    Raises:
        InputError: an unknown `unit`, a power that is negative or infinite.

    Example:
        seconds 1 and 10  ->  weights 0.1818 and 1.8182

    Paper: arXiv:2509.01684 (RL-MLE), duration-aware gradient updates.
    Unconfirmed: the division of durations by the batch's mean.
    Differs: nothing known.
    """
    if unit not in ("rollout", "turn"):
        raise InputError(f"duration_weight takes unit='rollout' or 'turn', not {unit!r}")
    if not (power >= 0 and isfinite(power)):
        raise InputError(f"power is {power}; give a finite number of 0 or more")

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        if not power:
            return list(rated)
        found = [[_seconds(trajectory, unit, tools_only) ** power for trajectory in one.group] for one in rated]
        groups = zip(rated, found, strict=True)
        counted = [own[i][_trained_units(one, i, unit)] for one, own in groups for i in range(len(one.group))]
        every = np.concatenate([np.zeros(0), *counted])
        mean = float(every.mean()) if len(every) else 0.0
        return [_weighted(one, own, mean) if mean else one for one, own in zip(rated, found, strict=True)]

    return shape


def _seconds(trajectory: Trajectory, unit: Unit, tools_only: bool) -> np.ndarray:
    """[N] of each turn; [1] of a rollout."""
    tools_N = np.array([sum(reply.seconds for reply in turn.replies) for turn in trajectory.turns], float)
    turns_N = tools_N if tools_only else tools_N + np.array([turn.seconds for turn in trajectory.turns], float)
    return turns_N if unit == "turn" else turns_N.sum(keepdims=True)


def _trained_units(one: RatedGroup, i: int, unit: Unit) -> np.ndarray:
    """[N] bool of turns, [1] of a rollout: whether a token of it trains."""
    trains_N = np.zeros(len(one.group[i].turns), bool)
    trains_N[token_turn_indices(one.group[i])[_trained_tokens(one, i)]] = True
    return trains_N if unit == "turn" else np.array([trains_N.any()])


def _trained_tokens(one: RatedGroup, i: int) -> np.ndarray:
    """[P] bool: trained tokens among the policy's."""
    masks = zip(one.group[i].sequences, one.training_mask(i), strict=True)
    return np.concatenate([np.zeros(0, bool), *(trains_T[sequence.mask] for sequence, trains_T in masks)])


def _weighted(one: RatedGroup, seconds: Sequence[np.ndarray], mean: float) -> RatedGroup:
    tokens = list(one.advantages.tokens)
    for i in np.flatnonzero(one.trained):
        trajectory, own = one.group[int(i)], seconds[int(i)] / mean
        factor = own[token_turn_indices(trajectory)] if len(own) == len(trajectory.turns) else own
        factor = np.where(_trained_tokens(one, int(i)), factor, 1.0)
        scaled = zip(tokens[i], scatter(trajectory, factor), strict=True)
        tokens[i] = tuple(adv_T * factor_T for adv_T, factor_T in scaled)
    return replace(one, advantages=replace(one.advantages, tokens=tuple(tokens)))
