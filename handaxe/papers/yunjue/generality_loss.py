"""Evolutionary generality loss: new tools per task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["generality_loss"]

SCALE = 1000


def generality_loss(created_T: Sequence[int] | np.ndarray, *, window: int) -> np.ndarray:
    """Compute new tools per 1000 tasks in windows of a stream.

        EGL_w  =  1000 * (tools created in window w) / (tasks of window w)

    Args:
        created_T: tools that each task added, in the order of the stream.
        window: tasks of a window, >= 1; the last window may be shorter.

    Returns:
        Loss of each window [W]; it falls as the library becomes general.

    Raises:
        InputError: no task, a negative count, or window below 1.

    Example:
        4 tools in 50 tasks, then 1 in 50, window 50  ->  80, 20

    Paper: arXiv:2601.18226 (Yunjue Agent), the measure of convergence, which plays the part of a training loss.
    Unconfirmed: numerator, denominator and scale, read in two projects that derive from the paper's.
    Differs: nothing known.
    """
    created = np.asarray(created_T, np.float64)
    if not created.size or created.ndim != 1 or (created < 0).any() or window < 1:
        raise InputError(
            f"{created.size} tasks and window {window}: give counts of 0 or more, and a window of 1 or more"
        )
    parts = [created[start : start + window] for start in range(0, len(created), window)]
    return np.array([SCALE * float(part.mean()) for part in parts])
