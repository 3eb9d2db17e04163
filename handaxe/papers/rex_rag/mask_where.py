"""Masks trajectories by a predicate."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.selection.parts.dispositions import mask

__all__ = ["eligible", "mask_where"]


def eligible(one: RatedGroup) -> np.ndarray:
    """[G] bool: the siblings in `Scores.eligible`; all siblings for None."""
    named = one.scores.eligible
    return np.ones(len(one.group), bool) if named is None else np.asarray(named, bool)


def mask_where(*, keep: Callable[[RatedGroup], np.ndarray] = eligible) -> Selector:
    """Mask trajectories that a predicate does not keep.

        trained_i' = trained_i and keep(group)_i

    All tokens of a masked trajectory leave the loss and its denominators. It stays in the group; the credit decides
    whether its score counts in the statistics (`stats_over`).

    Args:
        keep: a rated group -> [G] bool; `eligible` keeps those that the reward calls eligible.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in the same order, `trained` [G] cleared for rejected
        siblings.

    Raises:
        InputError: `keep` does not return one bool per sibling.

    Example:
        eligible True, False, True of siblings that all train  ->  trained True, False, True

    Paper: arXiv:2508.08149 (REX-RAG), which filters its cloned rollouts.
    Differs: nothing.
    """

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        out = []
        for one in rated:
            chosen_G = np.asarray(keep(one))
            if chosen_G.shape != (len(one.group),) or chosen_G.dtype != bool:
                raise InputError(
                    f"keep of mask_where returned {chosen_G.dtype} of shape {chosen_G.shape} for {len(one.group)} "
                    f"siblings of task {one.group.task.id!r}: give one bool each"
                )
            out.append(mask(one, chosen_G, by="mask_where"))
        return out

    return select
