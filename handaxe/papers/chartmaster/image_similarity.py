"""Reward for the visual similarity of a rendered image to the reference."""

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
    """Compute the mean cosine similarity of rendered and reference image over the stages of a feature pyramid.

        R_i = max(0, mean_s cos(f_s(x_i), f_s(g)))        cos(a, b) = a.b / (|a| |b|)

    x_i is the rollout's image, g the task's, f_s the features of stage s as one vector. The cosine of two zero vectors
    is 1, that of one zero vector 0.

    Args:
        rendered: [H, W, colours] of a trajectory, None without an image. The background should be 0: a constant
            non-zero background makes all images similar.
        gold: reference image of a task, of the same size.
        features: image -> an array for each stage. ResNet-18's four stages in the paper; the default is a fixed pyramid
            of random convolutions, since no trained weights come with a package.

    Returns:
        A reward with outcome [G] in [0, 1]. No image, or one of another size: 0.

    Raises:
        TaskError: the reference image is not finite. InputError: an image that `features` cannot read.

    Example:
        one stage with the image itself as features: gold (1, 0), rendered (3, 0) -> 1, (1, 1) -> 0.7071, (0, 2) -> 0

    Paper: arXiv:2508.17608 (ChartMaster), visual similarity.
    Unconfirmed: whether the cosine is of whole stages or averaged over blocks of them; here of whole stages.
    Differs: the default features are random, not those of a trained ResNet-18.
    """

    def score(trajectory: Trajectory) -> float:
        reference, image = np.asarray(gold(trajectory.task)), rendered(trajectory)
        if not np.isfinite(reference).all():
            raise TaskError(f"the image of task {trajectory.task.id!r} has pixels that are not finite")
        if image is None or image.shape != reference.shape or not np.isfinite(image).all():
            return 0.0
        pairs = zip(features(image), features(reference), strict=True)
        return float(np.clip(np.mean([_cosine(a.ravel(), b.ravel()) for a, b in pairs]), 0.0, 1.0))

    return outcome(score)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = np.linalg.norm(a), np.linalg.norm(b)
    if not all(lengths):
        return float(not any(lengths))
    return float(a @ b / lengths[0] / lengths[1])
