"""Exclude truncated trajectories from the loss."""

from collections.abc import Collection, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.selection.parts.dispositions import mask

__all__ = ["mask_overlong"]

REASONS = ("length", "turns", "budget")


def mask_overlong(*, reasons: Collection[str] = ("length",)) -> Selector:
    """Stop training on truncated trajectories.

        trained_i' = trained_i and not (trajectory i is truncated, for one of `reasons`)

    All tokens of such a trajectory leave the loss and its denominators. It stays in the group, and its score stays in
    the group's statistics.

    Args:
        reasons: among length (a turn or the context was full), turns and budget; the paper uses length only.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in the same order, `trained` [G] cleared where
        truncated.

    Raises:
        InputError: an unknown reason.

    Example:
        endings completed, truncated(length), truncated(turns)  ->  trained True, False, True

    Paper: arXiv:2503.14476 (DAPO), section 3.4, overlong filtering. Differs: nothing.
    """
    unknown = sorted(set(reasons) - set(REASONS))
    if unknown or isinstance(reasons, str):
        raise InputError(f"mask_overlong knows the reasons {', '.join(REASONS)}, not {reasons!r}")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        out = []
        for one in rated:
            cut = [t.ending.kind == "truncated" and t.ending.reason in reasons for t in one.group]
            out.append(mask(one, ~np.array(cut, bool), by="mask_overlong"))
        return out

    return select
