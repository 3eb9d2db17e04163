"""Figures of judges on rollouts of a policy, with any number of right ones among the candidates of a task."""

from __future__ import annotations

import numpy as np

from handaxe.evaluation.bench_scores import BenchForm, Sums, bench_calibration, calibration_sums, quotient
from handaxe.evaluation.best_of import best_of_curve

__all__ = ["ROLLOUTS", "rollout_figures", "rollout_sums"]


def rollout_sums(chance_N: np.ndarray, correct_N: np.ndarray) -> Sums:
    """Sums of the rollouts of a task.

        wins = sum over right i and wrong j of [s_i > s_j] + [s_i = s_j] / 2, of `pairs` pairs
        best = truth of the rollout with the greatest score, the mean of several
        right = share of right rollouts

    Args:
        chance_N: [N] scores.
        correct_N: [N] labels, any number of them True.

    Example:
        0.9, 0.4, 0.4 with labels no, yes, no  ->  wins 0.5 of 2, best 0, right 1/3
    """
    score_N = np.asarray(chance_N, np.float64)
    label_N = np.asarray(correct_N, bool)
    side_RW = np.sign(score_N[label_N][:, None] - score_N[~label_N][None, :])
    return {
        "wins": np.array(float((0.5 + side_RW / 2).sum())),
        "pairs": np.array(float(side_RW.size)),
        "best": np.array(float(best_of_curve(score_N, label_N)[-1])),
        "right": np.array(float(label_N.mean())),
        "tasks": np.array(1.0),
        **calibration_sums(score_N, label_N),
    }


def rollout_figures(sums: Sums) -> dict[str, np.ndarray]:
    """Figures of rollouts.

        pair   share of wins of a right over a wrong rollout of the same task
        best   mean truth of the rollout with the greatest score;  right: of a random rollout
        ece    see `answer_figures`

    Returns:
        Name -> figure, NaN without data.

    Example:
        wins 0.5 of 2, best 0 and right 1/3 of one task  ->  pair 0.25, best 0, right 0.3333

    Idea: a judge as the choice among rollouts, beside the mean rollout.
    """
    return {
        "pair": quotient(sums["wins"], sums["pairs"]),
        "best": quotient(sums["best"], sums["tasks"]),
        "right": quotient(sums["right"], sums["tasks"]),
        "ece": bench_calibration(sums),
    }


ROLLOUTS = BenchForm(rollout_sums, rollout_figures, "pair")
