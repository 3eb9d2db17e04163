"""Sampling probabilities of tasks that decrease with reward, by class and by task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["sampling_probabilities"]


def sampling_probabilities(
    reward_N: np.ndarray, class_N: Sequence[str], *, alpha: float = 0.5, sharpness: float = 5.0
) -> np.ndarray:
    """Compute the probability of each task.

        P_i  =  (1 - alpha) / N  +  alpha * W_c(i) * w_i
        W_c  =  exp(-s r_c) / sum over classes of exp(-s r_c)                  r_c: mean reward of the tasks of class c
        w_i  =  exp(-s r_i) / sum over tasks j of the class of i of exp(-s r_j)

    Args:
        reward_N: r, mean reward of each task, finite; of the order of 1.
        class_N: class of each task.
        alpha: share of the adaptive part, in [0, 1]; 0 is uniform. The released scripts have 1.
        sharpness: s > 0; 5 in the paper.

    Returns:
        [N] float64, with sum 1 and no entry below (1 - alpha) / N.

    Raises:
        InputError: no task, lists of unequal length, a reward that is not finite, or a number out of range.

    Example:
        one class, r 0.2 and 0.8, alpha 0.5  ->  0.25 + 0.5 * 0.9526 = 0.726 and 0.274;
        class a with r 0 and 0, class b with r 1, alpha 1  ->  W 0.9933 and 0.0067, P 0.4967, 0.4967, 0.0067

    Paper: arXiv:2505.02094 (SkillMimic-V2), adaptive trajectory sampling; the two levels as in the released code.
    Differs: nothing known.
    """
    reward_N = np.asarray(reward_N, np.float64)
    if not len(reward_N) or len(reward_N) != len(class_N) or not np.isfinite(reward_N).all():
        raise InputError(f"{len(reward_N)} rewards and {len(class_N)} classes: give a finite reward and a class a task")
    if not 0 <= alpha <= 1 or not sharpness > 0:
        raise InputError(f"alpha is {alpha} and sharpness {sharpness}; give 0 to 1, and a number above 0")
    names, index_N = np.unique([str(one) for one in class_N], return_inverse=True)
    size_C = np.bincount(index_N, minlength=len(names))
    class_C = _softmin(np.bincount(index_N, weights=reward_N) / size_C, sharpness)
    within_N = np.empty(len(reward_N))
    for c in range(len(names)):
        within_N[index_N == c] = _softmin(reward_N[index_N == c], sharpness)
    probability_N: np.ndarray = (1 - alpha) / len(reward_N) + alpha * class_C[index_N] * within_N
    return probability_N


def _softmin(value_N: np.ndarray, sharpness: float) -> np.ndarray:
    weight_N = np.exp(-sharpness * (value_N - value_N.min()))
    return weight_N / weight_N.sum()
