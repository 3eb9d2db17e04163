"""Agreement of a judge's ranking with graded truths of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Judge, Labelled
from handaxe.evaluation.best_of import best_of_curve

__all__ = ["RankFigures", "judge_figures", "rank_figures"]


class RankFigures(NamedTuple):
    """See `rank_figures`."""

    pair: float
    best: float
    random: float


def judge_figures(judge: Judge, labelled: Sequence[Labelled]) -> RankFigures:
    """Compare a judge's scores with the outcomes of labelled groups, see `rank_figures`.

    Example:
        a judge that scores correct rollouts 1 and others 0 -> pair 1, best 1

    Idea: a reward model is tested on rollouts that it did not learn from.
    """
    return rank_figures([judge.score(group) for group, _ in labelled], [scores.outcome for _, scores in labelled])


def rank_figures(score_TG: Sequence[np.ndarray], truth_TG: Sequence[np.ndarray]) -> RankFigures:
    """Compare scores with truths of the rollouts of each task.

        pair    over all (i, j) of a task with t_i > t_j: mean of [s_i > s_j] + [s_i = s_j] / 2
        best    mean over tasks of the truth of the rollout with the greatest score, the mean of equal ones
        random  mean over tasks of the mean truth

    Args:
        score_TG: for each of T tasks the scores of its rollouts.
        truth_TG: for each task the truths, of any scale.

    Returns:
        Three numbers; pair is NaN without two rollouts of unequal truth.

    Raises:
        InputError: no task, a task without a rollout, or unequal numbers of scores and truths.

    Example:
        scores 0.2, 0.9, 0.5 and truths 0, 1, 2  ->  pair 2/3 (the last two are in the wrong order), best 1, random 1

    Idea: accuracy on pairs and best of n, the usual tests of reward models, for truths of more than two grades.
    """
    if not len(score_TG) or [len(s) for s in score_TG] != [len(t) for t in truth_TG] or not min(map(len, score_TG)):
        raise InputError(f"give scores and truths of the same rollouts: {len(score_TG)} and {len(truth_TG)} tasks")
    wins = pairs = best = mean = 0.0
    for score_G, truth_G in zip(score_TG, truth_TG, strict=True):
        above_GG = np.greater.outer(truth_G, truth_G)
        side_GG = np.sign(np.subtract.outer(score_G, score_G))
        wins += float((0.5 + side_GG / 2)[above_GG].sum())
        pairs += float(above_GG.sum())
        best += float(best_of_curve(score_G, truth_G)[-1])
        mean += float(np.mean(truth_G))
    count = len(score_TG)
    return RankFigures(wins / pairs if pairs else float("nan"), best / count, mean / count)
