"""Rewards a drawn image for being like the one that was wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.papers.chartmaster.random_pyramid import Features, random_pyramid
from handaxe.rewards.outcome import outcome

__all__ = ["image_similarity"]

PYRAMID = random_pyramid()


def image_similarity(
    *,
    rendered: Callable[[Trajectory], np.ndarray | None],
    gold: Callable[[Task], np.ndarray],
    features: Features = PYRAMID,
) -> Reward:
    """Give the likeness of an image to the wanted one, by the features of several stages.

        R_i = max(0, mean_s cos(f_s(x_i), f_s(g)))        cos(a, b) = a.b / (|a| |b|)

    x_i is the image that the attempt drew, g the task's, f_s the features of stage s as one vector. Where both vectors
    are 0 the cosine is 1, where one is, 0.

    Args:
        rendered: [H, W, colours] of an attempt, None where it drew none. Let the background be 0: what is the same in
            all images else makes them all alike.
        gold: that of the task, of the same size.
        features: image -> an array for each stage. ResNet-18's four stages in the paper; the default is a fixed pyramid
            of random convolutions, since no trained weights come with a package.

    Returns:
        A reward with outcome [G] in [0, 1]. No image, or one of another size: 0.

    Raises:
        TaskError: the task's image is not finite. InputError: an image that `features` cannot read.

    Example:
        one stage whose features are the image itself: gold (1, 0), rendered (3, 0) -> 1, (1, 1) -> 0.7071, (0, 2) -> 0

    Paper: arXiv:2508.17608 (ChartMaster), visual similarity.
    Unconfirmed: whether the cosine is of whole stages or averaged over blocks of them; here of whole stages.
    Differs: the default features are random and not those of a trained ResNet-18.
    """

    def score(trajectory: Trajectory) -> float:
        wanted, drawn = np.asarray(gold(trajectory.task)), rendered(trajectory)
        if not np.isfinite(wanted).all():
            raise TaskError(f"the image of task {trajectory.task.id!r} has pixels that are not finite")
        if drawn is None or drawn.shape != wanted.shape or not np.isfinite(drawn).all():
            return 0.0
        pairs = zip(features(drawn), features(wanted), strict=True)
        return float(np.clip(np.mean([_cosine(a.ravel(), b.ravel()) for a, b in pairs]), 0.0, 1.0))

    return outcome(score)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = np.linalg.norm(a), np.linalg.norm(b)
    if not all(lengths):
        return float(not any(lengths))
    return float(a @ b / lengths[0] / lengths[1])
