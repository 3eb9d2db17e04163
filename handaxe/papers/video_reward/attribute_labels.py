"""Comparisons of two pictures by each quality, with ties, and ratings of single pictures.

Legend: P pairs, A qualities, 2 sides.
"""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["HIGHEST", "compare_qualities", "rate_qualities"]

HIGHEST = 5
"""Ratings are 1 to 5."""


def compare_qualities(quality_P2A: np.ndarray, *, tie: float, noise_PA: np.ndarray | float = 0.0) -> np.ndarray:
    """Label each quality of each pair: the first is better, the second is better, or a tie.

        d = q_first - q_second + noise;   label = sign(d) if |d| > tie, else 0

    Args:
        quality_P2A: qualities of both sides.
        tie: largest difference that an annotator calls a tie, >= 0.
        noise_PA: errors of the annotators.

    Returns:
        [P, A]: 1, -1 or 0.

    Raises:
        InputError: a negative `tie`.

    Example:
        qualities 1 and 0.75, tie 0.3  ->  0;  with an error of 0.1  ->  1

    Paper: arXiv:2501.13918 (VideoReward), comparisons with ties of visual quality, motion quality and text alignment.
    Differs: qualities are known by construction, and errors are drawn.
    """
    if tie < 0:
        raise InputError(f"tie is {tie}; give a difference of qualities from 0")
    difference_PA = quality_P2A[:, 0] - quality_P2A[:, 1] + noise_PA
    found: np.ndarray = np.where(np.abs(difference_PA) > tie, np.sign(difference_PA), 0.0)
    return found


def rate_qualities(quality_P2A: np.ndarray, *, noise_P2A: np.ndarray | float = 0.0) -> np.ndarray:
    """Rate each quality of each picture alone, from 1 to 5.

        rating = round(1 + 4 (q + noise)), clipped to [1, 5]

    Args:
        quality_P2A: qualities, 0 to 1.
        noise_P2A: errors of the annotators.

    Returns:
        [P, 2, A] whole numbers.

    Example:
        quality 0.5 with an error of 0.2  ->  round(3.8) = 4

    Paper: arXiv:2501.13918 (VideoReward), pointwise ratings.
    Differs: errors are drawn.
    """
    found: np.ndarray = np.clip(np.round(1 + (HIGHEST - 1) * (quality_P2A + noise_P2A)), 1, HIGHEST)
    return found
