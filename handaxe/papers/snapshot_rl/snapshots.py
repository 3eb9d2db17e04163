"""Snapshots of a teacher's best rollouts: the states before each turn, with their values."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.ops.rewindable import rewind_obstacle

__all__ = ["Snapshot", "best_snapshots"]


class Snapshot(NamedTuple):
    """State of an environment before a turn of a recorded rollout, with the discounted return from there."""

    trajectory: Trajectory
    turn: int
    value: float


def best_snapshots(
    episodes: Sequence[Trajectory], reward_N: np.ndarray, *, best: int, gamma: float = 0.99
) -> list[Snapshot]:
    """List the snapshots of the episodes with the highest rewards.

        kept      the `best` first episodes, sorted by R_i from high to low; equal rewards in the given order
        f(i, k) = gamma^(T_i - 1 - k) * R_i        k = 0 .. T_i - 1, the state before turn k of T_i turns

    Args:
        episodes: rollouts of the teacher. Rollouts that cannot be resumed (see `ops.rewindable`) are left out.
        reward_N: R_i, finite or NaN; an episode with NaN is left out.
        best: number of episodes, >= 1; 10 of 10 in the paper's scripts.
        gamma: discount per turn, in (0, 1].

    Returns:
        Snapshots by episode, then by turn. The first one of each episode is the true start.

    Raises:
        InputError: lists of unequal length, a number out of range, or no episode is left.

    Example:
        episodes of 3, 2 and 2 turns with rewards 1, 0 and 1, best 2, gamma 0.5  ->
        values 0.25, 0.5, 1 of the first episode, and 0.5, 1 of the third

    Paper: arXiv:2403.00673 (S3RL), snapshots of the teacher's best trajectories.
    Differs: the value is the teacher's discounted return from the state; the released code reads the teacher's critic.
    The released code takes a snapshot every 10 steps; here there is one per turn.
    """
    if len(episodes) != len(reward_N) or best < 1 or not 0 < gamma <= 1:
        raise InputError(
            f"{len(episodes)} episodes, {len(reward_N)} rewards, best {best}, gamma {gamma}: give a reward per "
            "episode, best of 1 or more, and gamma in (0, 1]"
        )
    known = [n for n, one in enumerate(episodes) if np.isfinite(reward_N[n]) and not rewind_obstacle(one)]
    kept = sorted((n for n in known if episodes[n].turns), key=lambda n: -reward_N[n])[:best]
    if not kept:
        raise InputError("no episode of the teacher can be resumed: give a teacher that plays scored turns by itself")
    return [
        Snapshot(episodes[n], k, float(gamma ** (len(episodes[n].turns) - 1 - k) * reward_N[n]))
        for n in kept
        for k in range(len(episodes[n].turns))
    ]
