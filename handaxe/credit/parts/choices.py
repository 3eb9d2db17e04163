"""Predicates of siblings: (Group, Scores) -> [G] bool, for `among` and whatever else asks about some of them.

Example:
    channel "efficiency" (1, 0.5, 0) -> above("efficiency") says (True, True, False)
"""

from collections.abc import Callable

import numpy as np

from handaxe.ops.ragged import rewards_of
from handaxe.records import Group, Scores

__all__ = ["above"]


def above(channel: str | None, least: float = 0.0) -> Callable[[Group, Scores], np.ndarray]:
    """Those whose channel (None: whole reward) is strictly above a number; never an unscored one."""

    def only(group: Group, scores: Scores) -> np.ndarray:
        return np.asarray(rewards_of(group, scores, channel=channel) > least)

    return only
