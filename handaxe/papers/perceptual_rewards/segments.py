"""Segments of demonstrations: recursive splits with the least deviation within segments."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["average_std", "best_split", "segment_demonstrations"]


def average_std(feature_TD: np.ndarray) -> float:
    """Average the standard deviations of the features over the frames of a segment.

        mean over d of std over t of x[t, d]

    Args:
        feature_TD: T >= 1 frames of D features.

    Example:
        frames (0, 0) and (2, 0)  ->  (1 + 0) / 2 = 0.5

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), similarity of the frames of a segment.
    Differs: nothing.
    """
    return float(np.asarray(feature_TD, np.float64).std(axis=0).mean())


def best_split(feature_TD: np.ndarray, *, segments: int, least: int = 1) -> tuple[list[int], float]:
    """Split a demonstration into consecutive segments.

        splits minimise  mean over segments of average_std(segment)

    Recursion over the end of the first segment; every shorter problem is solved once.

    Args:
        feature_TD: T frames of D features, finite.
        segments: n >= 1; at most T / least.
        least: frames of a segment at least, >= 1.

    Returns:
        First frames of the segments 2 .. n, and the minimum. Of equal minima, the earliest splits.

    Raises:
        InputError: a number out of range, too few frames, or features that are not finite.

    Example:
        0, 0, 1, 1 in two segments  ->  [2] and 0

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), recursive similarity minimization.
    Unconfirmed: the mean over segments without weights, from memory of the paper's algorithm.
    Differs: shorter problems are remembered; the minimum is the same.
    """
    feature_TD = np.asarray(feature_TD, np.float64)
    if feature_TD.ndim != 2 or not np.isfinite(feature_TD).all():
        raise InputError(f"features have shape {feature_TD.shape}; give finite numbers, a row per frame")
    count = len(feature_TD)
    if segments < 1 or least < 1 or segments * least > count:
        raise InputError(f"{count} frames cannot have {segments} segments of {least} frames or more; give fewer")
    known: dict[tuple[int, int], tuple[float, list[int]]] = {}

    def rest(start: int, left: int) -> tuple[float, list[int]]:
        """Least sum of deviations of `left` segments from a frame on, with their splits."""
        if (start, left) not in known:
            if left == 1:
                known[start, left] = (average_std(feature_TD[start:]), [])
            else:
                stops = range(start + least, count - (left - 1) * least + 1)
                options = [(average_std(feature_TD[start:stop]), stop, *rest(stop, left - 1)) for stop in stops]
                own, stop, later, splits = min(options, key=lambda one: (round(one[0] + one[2], 12), one[1]))
                known[start, left] = (own + later, [stop, *splits])
        return known[start, left]

    total, splits = rest(0, segments)
    return splits, total / segments


def segment_demonstrations(features: Sequence[np.ndarray], *, segments: int, least: int = 1) -> list[np.ndarray]:
    """Number the segment of each frame of each demonstration, each split by itself.

    Args:
        features: [T_i, D] of each demonstration.
        segments: n.
        least: frames of a segment at least. A segment of one frame has no deviation, so that 1 favours such segments.

    Returns:
        [T_i] integers from 0 to n - 1 of each demonstration.

    Raises:
        InputError: no demonstration, or an error of `best_split`.

    Example:
        0, 0, 1, 1 and 0, 1, 1 in two segments  ->  (0, 0, 1, 1) and (0, 1, 1)

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), the same number of steps in all demonstrations.
    Unconfirmed: separate splits of the demonstrations.
    Differs: nothing known.
    """
    if not features:
        raise InputError("there is no demonstration to segment: give one or more")
    found = []
    for own in features:
        splits, _ = best_split(own, segments=segments, least=least)
        found.append(np.searchsorted(splits, np.arange(len(own)), side="right"))
    return found
