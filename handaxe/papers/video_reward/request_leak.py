"""Dependence on the request of scores that should not read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["request_leak"]


def request_leak(
    score: Callable[[np.ndarray], np.ndarray], input_NF: np.ndarray, *, picture: int, needs: Sequence[bool]
) -> float:
    """Measure the change of scores when each picture gets the request of the next one.

        leak = mean over qualities a of the picture alone of  (mean over n of |s'_na - s_na|) / std over n of s_na

    Args:
        score: [N, F] features -> [N, A] scores, such as `AttributeReward.scores`.
        input_NF: features of pictures, then of requests.
        picture: features of a picture.
        needs: for each of A qualities, True if its score should read the request; not all.

    Returns:
        0 for scores that do not depend on the request.

    Example:
        two inputs, score = the request's only feature, 0 and 2: both change by 2, std 1  ->  2

    Paper: arXiv:2501.13918 (VideoReward), tokens of context-agnostic attributes stand before the prompt.
    Differs: the measure is this library's.
    """
    moved_NF = input_NF.copy()
    moved_NF[:, picture:] = np.roll(input_NF[:, picture:], 1, axis=0)
    before_NA = score(input_NF)
    change_A = np.abs(score(moved_NF) - before_NA).mean(0) / before_NA.std(0)
    return float(change_A[[a for a, need in enumerate(needs) if not need]].mean())
