"""Step classifiers: Gaussian naive Bayes on the most discriminative features, and their combined reward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["StepClassifiers", "combined_reward", "discriminability", "fit_classifiers"]

FLOOR = 1e-3
"""Least standard deviation of a feature, so that a constant feature has a density."""


def discriminability(positive_PD: np.ndarray, negative_ND: np.ndarray, *, alpha: float = 5.0) -> np.ndarray:
    """Score each feature by the distance of its means within and outside of a step.

        z_d = alpha * |mu+_d - mu-_d| - (sigma+_d + sigma-_d)

    Args:
        positive_PD: features of the frames of the step.
        negative_ND: features of all other frames.
        alpha: weight of the distance, > 0; 5 in the paper.

    Returns:
        [D].

    Raises:
        InputError: no frame on a side, unequal numbers of features, or alpha of 0 or less.

    Example:
        mu 1 and 0, sigma 0.1 and 0.1  ->  5 * 1 - 0.2 = 4.8

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), selection of features.
    Unconfirmed: alpha 5, from memory.
    Differs: nothing.
    """
    positive_PD = np.asarray(positive_PD, np.float64)
    negative_ND = np.asarray(negative_ND, np.float64)
    if not len(positive_PD) or not len(negative_ND) or positive_PD.shape[1:] != negative_ND.shape[1:] or alpha <= 0:
        raise InputError(
            f"frames have shapes {positive_PD.shape} and {negative_ND.shape}, alpha is {alpha}: give frames of equal "
            "width on both sides, and alpha above 0"
        )
    apart_D = np.abs(positive_PD.mean(0) - negative_ND.mean(0))
    score_D: np.ndarray = alpha * apart_D - (positive_PD.std(0) + negative_ND.std(0))
    return score_D


class StepClassifiers(NamedTuple):
    """Gaussian naive Bayes classifiers of K steps on M features each.

    feature_KM  numbers of the features
    mean_K2M    means, within the step first
    std_K2M     standard deviations
    """

    feature_KM: np.ndarray
    mean_K2M: np.ndarray
    std_K2M: np.ndarray

    def probabilities(self, feature_TD: np.ndarray) -> np.ndarray:
        """Compute the probability of each step at each frame.

            R_k = P(step k | x) = sigmoid(sum over the features of log N(x; mu+, sigma+) - log N(x; mu-, sigma-))

        Args:
            feature_TD: features of T frames.

        Returns:
            [T, K] in [0, 1]; both classes have equal priors.

        Example:
            one feature, mu 1 and 0, sigma 1 and 1, x 1  ->  sigmoid(0.5) = 0.62246

        Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), features are independent Gaussians.
        Unconfirmed: the posterior of two classes as the number in [0, 1].
        Differs: nothing known.
        """
        from_TKM = np.asarray(feature_TD, np.float64)[:, self.feature_KM]
        scaled_TK2M = (from_TKM[:, :, None] - self.mean_K2M) / self.std_K2M
        log_TK2 = (-0.5 * scaled_TK2M**2 - np.log(self.std_K2M)).sum(-1)
        logit_TK = log_TK2[:, :, 0] - log_TK2[:, :, 1]
        return np.where(logit_TK >= 0, 1.0, np.exp(np.minimum(logit_TK, 0))) / (1 + np.exp(-np.abs(logit_TK)))


def fit_classifiers(
    feature_TD: np.ndarray, step_T: np.ndarray, *, features: int = 32, alpha: float = 5.0
) -> StepClassifiers:
    """Fit a classifier for each step, against the frames of all other steps.

    Args:
        feature_TD: features of the frames of all demonstrations.
        step_T: number of the step of each frame, from 0 to K - 1, each once or more; K >= 2.
        features: M most discriminative features of each step, >= 1; 32 in the paper. At most D.
        alpha: see `discriminability`.

    Returns:
        The classifiers. Equal scores: the feature of the lower number first. Deviations are FLOOR or more.

    Raises:
        InputError: fewer than two steps, a step without a frame, or a number out of range.

    Example:
        features 0, 0, 1, 1 of the steps 0, 0, 1, 1: means 0 and 1 for step 0, 1 and 0 for step 1

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), step classifiers.
    Unconfirmed: 32 features, from memory.
    Differs: nothing known.
    """
    feature_TD = np.asarray(feature_TD, np.float64)
    step_T = np.asarray(step_T)
    count = int(step_T.max(initial=-1)) + 1
    if count < 2 or len(set(step_T.tolist())) != count or len(step_T) != len(feature_TD) or features < 1:
        raise InputError(
            f"{len(feature_TD)} frames have the steps {sorted(set(step_T.tolist()))}; give 0 to K - 1, K >= 2"
        )
    most = min(features, feature_TD.shape[1])
    chosen = []
    means = []
    stds = []
    for step in range(count):
        sides = feature_TD[step_T == step], feature_TD[step_T != step]
        feature_M = np.argsort(-discriminability(*sides, alpha=alpha), kind="stable")[:most]
        chosen.append(feature_M)
        means.append([side[:, feature_M].mean(0) for side in sides])
        stds.append([np.maximum(side[:, feature_M].std(0), FLOOR) for side in sides])
    return StepClassifiers(np.array(chosen), np.array(means), np.array(stds))


def combined_reward(probability_TK: np.ndarray) -> np.ndarray:
    """Combine the steps, so that later steps dominate.

        R = 1 / n * sum over i = 2 .. n of R_i * 2^(i - 1)

    Args:
        probability_TK: R_1, ..., R_n at T frames, in [0, 1]; the first step, the initial state, does not count.

    Returns:
        [T], from 0 to (2^n - 2) / n.

    Raises:
        InputError: fewer than two steps, or numbers outside [0, 1].

    Example:
        n 3, R_2 = 1 and R_3 = 0.5  ->  (2 + 2) / 3 = 1.3333

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards), the reward.
    Unconfirmed: the sum from the second step on, from memory.
    Differs: nothing known.
    """
    probability_TK = np.asarray(probability_TK, np.float64)
    if (
        probability_TK.ndim != 2
        or probability_TK.shape[1] < 2
        or not ((probability_TK >= 0) & (probability_TK <= 1)).all()
    ):
        raise InputError(f"probabilities have shape {probability_TK.shape}; give two steps or more, from 0 to 1")
    count = probability_TK.shape[1]
    weight_K = np.array([0.0, *(2.0**i for i in range(1, count))])
    reward_T: np.ndarray = probability_TK @ weight_K / count
    return reward_T
