"""What a step leaves of a group, for the record and for its metrics."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from handaxe.records import Advantages, Group, Scores

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
    """

    group: Group
    scored: np.ndarray
    trained: np.ndarray
    scores: Scores | None = None
    advantages: Advantages | None = None
    fate: Fate = "trained"
    part: int = 0
