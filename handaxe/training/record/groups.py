"""What a step leaves of a group, for the record and for its metrics."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from handaxe.core.records import Advantages, Group, Scores

__all__ = ["Fate", "GroupRecord"]

Fate = Literal["trained", "unselected", "surplus", "dropped", "unscored"]


@dataclass(frozen=True, eq=False)
class GroupRecord:
    """A group as its step left it.

    group       everything that was generated, failures and superseded attempts included
    scored      [G] bool: siblings the reward scored; the others ended in an error that no policy is to blame for, were
                superseded by a retry, or stand in a group that was dropped before the reward
    trained     [G] bool: siblings whose tokens entered the loss
    scores      of the scored siblings alone, in their order; None when nothing was scored
    advantages  of the scored siblings alone, as the loss saw them
    fate        trained; unselected (by the selector); surplus (cut after a refill); dropped (an ending said
                drop_group); unscored (nothing in it could be scored)
    part        see `Rated.part`
    left_out_by [G] names: of each sibling the selector that first took tokens of it out of the loss, or all of it; ""
                where none did. None in records of before it was kept
    ages        [G] float64: how many steps older than this one the weights are that wrote a sibling's oldest token, as
                `training.loop.staleness` counts them; NaN where no policy drew one, or where it was not counted
    pushed      [G], of each sibling per sequence [T] bool: the tokens whose log-prob the loss moved in some optimiser
                step; None for a sibling that was in none
    """

    group: Group
    scored: np.ndarray
    trained: np.ndarray
    scores: Scores | None = None
    advantages: Advantages | None = None
    fate: Fate = "trained"
    part: int = 0
    left_out_by: tuple[str, ...] | None = None
    ages: np.ndarray | None = None
    pushed: tuple[tuple[np.ndarray, ...] | None, ...] | None = None
