"""Leave out of the loss every trajectory that is not chosen."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Rated

__all__ = ["eligible", "mask_where"]


def eligible(one: Rated) -> np.ndarray:
    """[G] bool: the siblings that `Scores.eligible` names; all of them where it names none."""
    named = one.scores.eligible
    return np.ones(len(one.group), bool) if named is None else np.asarray(named, bool)


def mask_where(*, keep: Callable[[Rated], np.ndarray] = eligible) -> Selector:
    """Stop training on trajectories that a function does not choose.

        trained_i' = trained_i and keep(group)_i

    All tokens of such a trajectory leave the loss and its denominators. It stays in the group; whether its score counts
    for its siblings was the credit's to decide (`stats_over`).

    Args:
        keep: a rated group -> [G] bool; `eligible` chooses those that the reward calls so.

    Returns:
        A selector: [Rated] -> [Rated], the same groups in the same order, `trained` [G] cleared where not chosen.

    Raises:
        InputError: `keep` returns something else than one bool a sibling.

    Example:
        eligible True, False, True of siblings that all train  ->  trained True, False, True

    Paper: arXiv:2508.08149 (REX-RAG), which filters the attempts that it cloned.
    Differs: nothing.
    """

    def select(rated: Sequence[Rated]) -> list[Rated]:
        out = []
        for one in rated:
            chosen_G = np.asarray(keep(one))
            if chosen_G.shape != (len(one.group),) or chosen_G.dtype != bool:
                raise InputError(
                    f"where's keep returned {chosen_G.dtype} of shape {chosen_G.shape} for {len(one.group)} siblings "
                    f"of task {one.group.task.id!r}: give one bool each"
                )
            out.append(replace(one, trained=one.trained & chosen_G))
        return out

    return select
