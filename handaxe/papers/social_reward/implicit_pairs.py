"""Preference pairs of pictures of one prompt from the edits of a community.

Legend: P pictures of one prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.papers.social_reward.community import Visit

__all__ = ["SIGNALS", "Signal", "edit_counts", "edit_rates", "implicit_pairs"]

Signal = Literal["counts", "rates"]
PRIOR = 1.0
"""Edits and twice as many views that each picture has before the first event."""


def edit_counts(events: Sequence[Visit], count: int) -> np.ndarray:
    """Count all edits of each picture.

    Example:
        two members, one with an edit and one with nine  ->  10
    """
    found_P = np.zeros(count)
    for one in events:
        found_P[one.picture] += one.edits
    return found_P


def edit_rates(events: Sequence[Visit], count: int) -> np.ndarray:
    """Compute the share of viewers with an edit; repeated edits of a member count once.

        rate_p = (members who edited p + 1) / (members who saw p + 2)

    Example:
        seen by three members, edited by one of them nine times  ->  2/5;  never seen  ->  1/2

    Paper: Social Reward (paper 85), a score that many members share.
    Differs: the paper's correction for exposure is not known to the library; this one divides by the views.
    """
    seen = [{one.member for one in events if one.picture == p} for p in range(count)]
    edited = [{one.member for one in events if one.picture == p and one.edits} for p in range(count)]
    return np.array([(len(e) + PRIOR) / (len(s) + 2 * PRIOR) for e, s in zip(edited, seen, strict=True)])


SIGNALS: Mapping[Signal, Callable[[Sequence[Visit], int], np.ndarray]] = {"counts": edit_counts, "rates": edit_rates}
"""Signal -> (events, number of pictures) -> [P]."""


def implicit_pairs(signal_P: np.ndarray, *, least: float = 0.5) -> list[tuple[int, int]]:
    """Pair pictures of one prompt with different signals, in units of the standard deviation.

        {(p, q) : signal_p - signal_q > least * std(signal)}

    Args:
        signal_P: of each picture of a prompt.
        least: >= 0.

    Returns:
        (better, worse) pairs of numbers; none if all signals are equal.

    Raises:
        InputError: a negative `least`.

    Example:
        signals 1, 2 and 4 with least 1 (std 1.2472)  ->  (2, 0) and (2, 1)

    Paper: Social Reward (paper 85), pairs of pictures of one prompt by re-use.
    Differs: a threshold in standard deviations of the prompt.
    Unconfirmed: the threshold.
    """
    if least < 0:
        raise InputError(f"least is {least}; give 0 or more")
    gap = least * float(np.std(signal_P))
    count = len(signal_P)
    return [(p, q) for p in range(count) for q in range(count) if signal_P[p] - signal_P[q] > gap]
