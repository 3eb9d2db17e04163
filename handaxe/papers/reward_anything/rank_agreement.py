"""Rewards scores of a listwise judge that order the responses as the reference scores do."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from handaxe.core.protocols import Reward
from handaxe.papers.reward_anything.read_ranking import read_ranking
from handaxe.rewards.outcome import outcome

__all__ = ["pair_agreement", "rank_agreement"]


def rank_agreement() -> Reward:
    """Give the agreement of the stated scores with the task's reference scores, `task.answer`.

        R_i = pair_agreement(scores of reply i, task.answer)

    Returns:
        A reward with outcome [G], from 0 to 1.

    Example:
        reference a 5, b 3, c 1, scores a 4, b 4, c 2  ->  0.8636

    Paper: arXiv:2506.03637 (RewardAnything), the accuracy reward, by its released code.
    Differs: see `pair_agreement`.
    """
    return outcome(lambda one: pair_agreement(read_ranking(one.final_text).scores or {}, one.task.answer))


def pair_agreement(scores: Mapping[str, float], gold: Mapping[str, float]) -> float:
    """Share of the pairs of responses in the order of the reference, weighted by the gap of the reference scores.

        agreement = 1 - sum penalty_ij / sum w_ij        over pairs i < j with both scores, w_ij = 1 + |g_i - g_j|
        penalty_ij = w_ij       if the order is reversed
                     w_ij / 2   if the scores tie and the references do not
                     0          else, so that any order of tied references agrees

    Args:
        scores: name -> score s of the judge.
        gold: name -> reference score g.

    Returns:
        From 0 to 1; 0 without a pair.

    Example:
        g a 5, b 3, c 1, s a 4, b 4, c 2: weights 3, 5, 3, penalty 1.5  ->  1 - 1.5 / 11 = 0.8636

    Paper: arXiv:2506.03637 (RewardAnything), the weighted penalty of reversed pairs, by its released code.
    Differs: a reply without two names of the reference scores 0; the released code gives 1.
    """
    penalty = total = 0.0
    for one, two in combinations([name for name in gold if name in scores], 2):
        gap, order = gold[one] - gold[two], scores[one] - scores[two]
        weight = 1 + abs(gap)
        total += weight
        if order * gap < 0:
            penalty += weight
        elif order == 0 and gap != 0:
            penalty += weight / 2
    return 1 - penalty / total if total else 0.0
