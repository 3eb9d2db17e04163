"""Reward of a rewritten prompt: mean share of key points that images of the frozen generator meet."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.seeds import derive_seed

__all__ = ["alignment_reward"]

MetPoints = Callable[[Trajectory], Sequence[Sequence[bool]]]
"""rollout -> whether each key point is met in each image, [samples][points]."""


def alignment_reward(*, met: MetPoints, error: float = 0.0) -> Reward:
    """Reward a prompt by an evaluator of key points over several images.

        R = 1 / (n K) * sum over images s = 1..n and key points k = 1..K of v_sk
        v_sk = 1 if the evaluator finds point k met in image s, else 0

    Args:
        met: true key points of the images of a rollout.
        error: probability that the evaluator errs in one key point of one image, independently; 0 to 0.5.

    Returns:
        A reward with outcome [G] and the channels "aligned" (the true share) and "errs" (share of wrong verdicts).
        Equal rollouts have equal verdicts.

    Raises:
        InputError: error out of range; a rollout without a key point.

    Example:
        2 images with 24 key points each, of which 18 and 12 are met: (18 + 12) / 48 = 0.625

    Paper: arXiv:2509.04545 (PromptEnhancer), the reward of GRPO by AlignEvaluator.
    Unconfirmed: the mean over points without weights, and the number of images.
    Differs: a rule with errors in the place of AlignEvaluator.
    """
    if not 0 <= error <= 0.5:
        raise InputError(f"error is {error}; give a probability of 0 to 0.5")

    def reward(group: Group) -> Scores:
        true = [np.array(met(one), dtype=np.float64) for one in group]
        if not all(one.size for one in true):
            raise InputError(f"task {group.task.id!r} has no key point: choose --world image_requests")
        flips = [_flips(one, values.shape, error) for one, values in zip(group, true)]
        found = [np.abs(values - wrong) for values, wrong in zip(true, flips)]
        channels = {"aligned": _means(true), "errs": _means(flips)}
        return Scores(_means(found), channels=channels)

    return reward


def _flips(one: Trajectory, shape: tuple[int, ...], error: float) -> np.ndarray:
    rng = random.Random(derive_seed("alignment", one.task.id, one.final_text))
    return np.array([rng.random() < error for _ in range(int(np.prod(shape)))], dtype=np.float64).reshape(shape)


def _means(values: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([one.mean() for one in values], dtype=np.float64)
