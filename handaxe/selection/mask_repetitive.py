"""Exclude trajectories with repeated token runs from the loss."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.selection.parts.dispositions import mask

__all__ = ["mask_repetitive"]


def mask_repetitive(*, length: int = 20, times: int = 10) -> Selector:
    """Stop training on trajectories with a repeated run of tokens.

        trained_i' = trained_i and no run of `length` tokens occurs `times` times or more within a turn of trajectory i

    Runs may overlap. All tokens of such a trajectory leave the loss and its denominators. It stays in the group, and
    its score stays in the group's statistics.

    Args:
        length: tokens, >= 1; 20 in the paper.
        times: >= 2; 10 in the paper.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in the same order, `trained` [G] cleared where
        repetitive.

    Raises:
        InputError: a number out of range.

    Example:
        length 2, times 3: "a b a b a b" holds "a b" three times  ->  masked;  "a b c a b" twice  ->  trains

    Paper: arXiv:2509.22601 (SPEAR), Dr.BoT.
    Differs: counts runs within each turn; the paper leaves this open.
    """
    if length < 1 or times < 2:
        raise InputError(f"length is {length} and times {times}; give 1 or more and 2 or more")

    def repetitive(trajectory: Trajectory) -> bool:
        for turn in trajectory.turns:
            ids = trajectory.sequences[turn.sequence].ids[turn.start : turn.stop].tolist()
            found = Counter(tuple(ids[k : k + length]) for k in range(len(ids) - length + 1))
            if max(found.values(), default=0) >= times:
                return True
        return False

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        out = []
        for one in rated:
            repeats = [repetitive(trajectory) for trajectory in one.group]
            out.append(mask(one, ~np.array(repeats, bool), by="mask_repetitive"))
        return out

    return select
