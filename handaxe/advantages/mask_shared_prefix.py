"""Mask the shared prefix of forked trajectories."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Trajectory

__all__ = ["mask_shared_prefix"]


def mask_shared_prefix() -> AdvantageTransform:
    """Train a fork only from its fork point on.

        trains'_i,t = trains_i,t and A'_i,t = A_i,t     at tokens t from `branch_of` of trajectory i on
        trains'_i,t = False      and A'_i,t = 0         before it

    Tokens shared by a fork and its origin enter loss, terms and denominators once, in the origin. Tokens shared with
    a recorded trajectory outside the group do not train. A trajectory without `branch_of` is unchanged.

    Returns:
        An advantage transform: [RatedGroup] -> [RatedGroup], such as for `credit.transformed`. Value targets and
        channels are unchanged, since masked tokens are never read. A group without forks is returned unchanged.

    Example:
        t/1 left t/0 at token 4, both have policy tokens at 3, 5 and 6 of advantage 1  ->
        t/0 trains at 3, 5, 6; t/1 at 5, 6, and its advantages are 0, 1, 1

    Paper: THOR, whose step-level loss covers the regenerated suffix only; so do the resampled chunks of ROME,
    arXiv:2512.24873.
    Differs: nothing.
    """

    def transform(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        return [_masked(one) for one in rated]

    return transform


def _masked(one: RatedGroup) -> RatedGroup:
    group, advantages = one.group, one.advantages
    if all(trajectory.branch_of is None for trajectory in group):
        return one
    own = [_own(trajectory) for trajectory in group]
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
    return replace(one, advantages=replace(advantages, tokens=tokens, trains=trains))


def _own(one: Trajectory) -> tuple[np.ndarray, ...]:
    """Per sequence [T] bool: tokens of the mask from the trajectory's `branch_of` on."""
    masks = tuple(sequence.mask.copy() for sequence in one.sequences)
    if one.branch_of is not None:
        for s, mask_T in enumerate(masks[: one.branch_of.sequence + 1]):
            mask_T[: one.branch_of.token if s == one.branch_of.sequence else len(mask_T)] = False
    return masks
