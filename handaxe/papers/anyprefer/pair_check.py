"""Check of a preference pair: quality of the best answer, and gap to the worst."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["CheckedPair", "check_pair"]


class CheckedPair(NamedTuple):
    """Best and worst answer of a group by the judge, the reward of the pair, and feedback; "" for an accepted pair."""

    best: int
    worst: int
    reward: float
    feedback: str

    @property
    def accepted(self) -> bool:
        """True for a pair without feedback."""
        return not self.feedback


def check_pair(score_G: np.ndarray, *, threshold: float = 0.5) -> CheckedPair:
    """Rank the answers of a group and check the pair of best and worst.

        w = argmax score, l = argmin score      ties to the first
        reward = score_w - score_l              for scores in [0, 1] at most the quality score_w
        accepted if reward >= threshold

    Args:
        score_G: [G] scores of the judge, 0 to 1; NaN is no answer to rank.
        threshold: least reward of an accepted pair, above 0.

    Returns:
        The pair. Feedback names the quality of the best answer if it is below the threshold, else the gap. Fewer than
        two scores: reward 0.

    Raises:
        InputError: a threshold outside (0, 1], or a score outside 0 to 1.

    Example:
        scores 0.2, 0.9, 0.6  ->  pair (2nd, 1st) of reward 0.7, accepted
        scores 0.5, 0.6, 0.55  ->  reward 0.1, rejected: "best and worst answer differ by 0.10, below 0.50"

    Paper: arXiv:2504.19276 (Anyprefer), reward-type check of a pair.
    Unconfirmed: the form of the check, from memory.
    Differs: the gap alone decides; a gap at the threshold implies the quality.
    """
    if not 0 < threshold <= 1 or np.nanmin(score_G, initial=0) < 0 or np.nanmax(score_G, initial=0) > 1:
        raise InputError(f"check_pair takes a threshold above 0 up to 1 and scores from 0 to 1: {threshold}, {score_G}")
    if np.isfinite(score_G).sum() < 2:
        return CheckedPair(0, 0, 0.0, "fewer than two answers have a score")
    best = int(np.nanargmax(score_G))
    worst = int(np.nanargmin(score_G))
    quality = float(score_G[best])
    reward = float(score_G[best] - score_G[worst])
    low = f"the best answer has a score of {quality:.2f}, below {threshold:.2f}"
    near = f"best and worst answer differ by {reward:.2f}, below {threshold:.2f}"
    rejected = low if quality < threshold else near
    return CheckedPair(best, worst, reward, "" if reward >= threshold else rejected)
