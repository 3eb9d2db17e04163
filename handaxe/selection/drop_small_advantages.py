"""Exclude trajectories with near-zero advantages from the loss."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.selection.parts.dispositions import mask

__all__ = ["drop_small_advantages"]


def drop_small_advantages(*, least: float = 0.01) -> Selector:
    """Stop training on trajectories with all advantages near 0.

        trained_i' = trained_i and max_t abs(A_i,t) >= least        over the tokens t of trajectory i that train

    Such a trajectory adds almost nothing to the policy loss, but would count in denominators, enter terms such as a KL
    penalty, and take compute. It stays in the group, and its score stays in the group's statistics.

    Args:
        least: > 0, in units of the advantage; 0.01 in the paper.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in the same order, `trained` [G] cleared where small.
        A trajectory without training tokens does not train.

    Raises:
        InputError: `least` is not above 0, or not finite.

    Example:
        rewards 1, 0.5, 0 under `leave_one_out`: advantages 0.75, 0, -0.75  ->  trained True, False, True

    Paper: arXiv:2502.01600 (LOOP), as in its released code.
    Differs: nothing; the paper has one advantage per trajectory.
    """
    if not 0 < least < np.inf:
        raise InputError(f"drop_small_advantages takes a finite bound above 0, not {least}")

    def large(one: RatedGroup, i: int) -> bool:
        arrays = zip(one.advantages.tokens[i], one.training_mask(i), strict=True)
        return any((np.abs(adv_T[mask_T]) >= least).any() for adv_T, mask_T in arrays)

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        large_GG = [np.array([large(one, i) for i in range(len(one.group))], bool) for one in rated]
        return [mask(one, large_G, by="drop_small_advantages") for one, large_G in zip(rated, large_GG, strict=True)]

    return select
