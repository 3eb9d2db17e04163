"""A fork learns from what it did itself, and not from what it was given to begin with."""

from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Shaper
from handaxe.core.records import Advantages, Group, Trajectory

__all__ = ["mask_shared_prefix"]


def mask_shared_prefix() -> Shaper:
    """Let a trajectory that left another one train only from there on.

        trains'_i,t = trains_i,t and A'_i,t = A_i,t     at tokens t from `branch_of` of trajectory i on
        trains'_i,t = False      and A'_i,t = 0         before it

    So what a fork shares with its origin enters neither loss, terms nor denominators a second time, and where the
    origin is a recorded attempt, what was recorded does not train at all. A trajectory that left none trains as before.

    Returns:
        A shaper: (Group, Advantages) -> Advantages, [T] for each sequence, for `shaped`. Value targets and channels
        stay as they are, since what does not train is read nowhere. A group without forks comes back as it is.

    Example:
        t/1 left t/0 at token 4, both have policy tokens at 3, 5 and 6 of advantage 1  ->
        t/0 trains at 3, 5, 6; t/1 at 5, 6, and its advantages are 0, 1, 1

    Paper: THOR, whose step-level loss covers the regenerated suffix only; so do the resampled chunks of ROME,
    arXiv:2512.24873.
    Differs: nothing.
    """

    def shaper(group: Group, advantages: Advantages) -> Advantages:
        if all(one.branch_of is None for one in group):
            return advantages
        own = [_own(one) for one in group]
        tokens = tuple(
            tuple(np.where(own_T, adv_T, 0.0) for own_T, adv_T in zip(mine, arrays, strict=True))
            for mine, arrays in zip(own, advantages.tokens, strict=True)
        )
        if advantages.trains is None:
            trains = tuple(own)
        else:
            trains = tuple(
                tuple(own_T & trains_T for own_T, trains_T in zip(mine, arrays, strict=True))
                for mine, arrays in zip(own, advantages.trains, strict=True)
            )
        return replace(advantages, tokens=tokens, trains=trains)

    return shaper


def _own(one: Trajectory) -> tuple[np.ndarray, ...]:
    """Per sequence [T] bool: the policy's tokens that stand from the trajectory's `branch_of` on."""
    masks = tuple(sequence.mask.copy() for sequence in one.sequences)
    if one.branch_of is not None:
        for s, mask_T in enumerate(masks[: one.branch_of.sequence + 1]):
            mask_T[: one.branch_of.token if s == one.branch_of.sequence else len(mask_T)] = False
    return masks
