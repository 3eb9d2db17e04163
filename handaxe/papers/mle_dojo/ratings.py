"""Ratings of agents over tasks: Elo, performance profile, and the area under the profile."""

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["elo_ratings", "profile_area", "score_ratios"]

ITERATIONS = 1000


def elo_ratings(scores_MT: np.ndarray, *, centre: float = 1000.0) -> np.ndarray:
    """Fit Elo ratings to all pairs of agents on all tasks.

        w_ij = sum_t 1[s_it > s_jt] + 0.5 1[s_it = s_jt] + 0.5        one added tie a pair keeps ratings finite
        P(i beats j) = 1 / (1 + 10^((e_j - e_i) / 400)), e by maximum likelihood, mean(e) = centre

    Args:
        scores_MT: score of each of M >= 2 agents on each of T >= 1 tasks, higher is better.
        centre: mean rating.

    Returns:
        Ratings [M].

    Raises:
        InputError: fewer than two agents or no task, or a score that is not finite.

    Example:
        two agents, the first better on 2 tasks: w = 2.5 against 0.5, e = 1000 +- 200 log10(5) = 1139.8 and 860.2

    Paper: arXiv:2505.07782 (MLE-Dojo), Elo ranking of models by task.
    Unconfirmed: the fit by maximum likelihood, scale and centre, and the added tie.
    Differs: nothing else.
    """
    scores_MT = _checked(scores_MT)
    wins_MM = (scores_MT[:, None] > scores_MT[None]).sum(-1) + 0.5 * (scores_MT[:, None] == scores_MT[None]).sum(-1)
    wins_MM = wins_MM + 0.5
    np.fill_diagonal(wins_MM, 0.0)
    games_MM = wins_MM + wins_MM.T
    strength_M = np.ones(len(scores_MT))
    for _ in range(ITERATIONS):
        strength_M = wins_MM.sum(1) / (games_MM / (strength_M[:, None] + strength_M[None])).sum(1)
        strength_M = strength_M / np.exp(np.log(strength_M).mean())
    return centre + 400 * np.log10(strength_M)


def score_ratios(scores_MT: np.ndarray) -> np.ndarray:
    """Divide the best score of each task by the scores of the agents.

        r_mt = max_n s_nt / s_mt; infinite for s_mt = 0, and 1 on a task that every agent fails

    Args:
        scores_MT: scores from 0, higher is better.

    Returns:
        Ratios [M, T], 1 or more.

    Raises:
        InputError: as `elo_ratings`, or a negative score.
    """
    scores_MT = _checked(scores_MT)
    if scores_MT.min() < 0:
        raise InputError("ratios need scores from 0, such as position scores")
    best_T = scores_MT.max(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio_MT = best_T / scores_MT
    return np.where(best_T > 0, ratio_MT, 1.0)


def profile_area(scores_MT: np.ndarray, *, most: float = 4.0) -> np.ndarray:
    """Integrate the performance profile of each agent (AUP).

        rho_m(tau) = (1 / T) |{t: r_mt <= tau}|        AUP_m = integral from 1 to `most` of rho_m(tau) dtau
                                                             = mean_t max(0, most - r_mt)

    Args:
        scores_MT: as `score_ratios`.
        most: end of the integral, above 1.

    Returns:
        Areas [M], 0 to most - 1.

    Raises:
        InputError: as `score_ratios`, or `most` is not above 1.

    Example:
        scores [[1, 0.5], [0.5, 1]] -> ratios [[1, 2], [2, 1]], areas (3 + 2) / 2 = 2.5 each

    Paper: arXiv:2505.07782 (MLE-Dojo), performance profiles and AUP.
    Unconfirmed: the ratio of scores, without a logarithm, and the end of the integral.
    Differs: nothing else.
    """
    if not most > 1:
        raise InputError(f"the integral of the profile ends above 1, not at {most}")
    return np.maximum(0.0, most - score_ratios(scores_MT)).mean(1)


def _checked(scores_MT: np.ndarray) -> np.ndarray:
    scores_MT = np.asarray(scores_MT, dtype=np.float64)
    if scores_MT.ndim != 2 or len(scores_MT) < 2 or not scores_MT.shape[1] or not np.isfinite(scores_MT).all():
        raise InputError(f"ratings need finite scores [agents, tasks] of 2 agents or more, not {scores_MT.shape}")
    return scores_MT
