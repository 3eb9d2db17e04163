"""Rewards being right, and among the right and among the wrong the confidence that fits."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.papers.calibrated.confidence import UNSTATED, Confidence, as_channel, stated_confidence
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["margin_confidence"]


def margin_confidence(
    *,
    correct: Reward,
    confidence: Confidence = stated_confidence,
    right: float = 0.5,
    wrong: float = 0.5,
    correct_above: float = 0.5,
) -> Reward:
    """Give at least 1 for a right answer, the more the surer, and at most 0 for a wrong one, the less the surer.

        R_i = 1 + b1 (1 - (1 - c_i)^2)    where correct_i > correct_above           1 .. 1 + b1
            = -b2 c_i^2                   elsewhere                                 -b2 .. 0
            = -b2                         where no confidence is stated, right or wrong

    Any right answer that says how sure it is earns at least 1 more than any wrong one. With b1 = b2 the expected reward
    of an answer that is right with chance q is highest at c = q.

    Args:
        correct: what tells right from wrong.
        confidence: how sure an attempt says it is, 0 to 1; None where it does not say.
        right: b1, >= 0; 0.5 is a guess.
        wrong: b2, >= 0; 0.5 is a guess.
        correct_above: right is an outcome of `correct` strictly above this.

    Returns:
        A reward with outcome [G] and the channels "correct" and "confidence" (-1 where none is stated).

    Raises:
        InputError: b1 or b2 below 0 or not finite; a reward `correct` with per-turn values.
        VerifierError: a confidence outside 0 to 1.

    Example:
        b1 = b2 = 0.5: right with c 0.9 and 0.1, wrong with c 0.9 and 0.1  ->  1.495, 1.095, -0.405, -0.005

    Paper: arXiv:2601.07264 (the confidence dichotomy), MSCR.
    Differs: nothing known.
    Unconfirmed: the form of both terms, b1 and b2: only summaries say that right answers score above wrong ones, that
    false confidence is punished, and that an answer in another form gets the least.
    """
    for name, value in (("right", right), ("wrong", wrong)):
        if not 0 <= value < float("inf"):
            raise InputError(f"{name} is {value}; give a finite number of 0 or more")

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        z = outcome_only(parts["correct"], "correct").outcome > correct_above
        c = parts["confidence"].outcome
        value = np.where(z, 1 + right * (1 - (1 - c) ** 2), -wrong * c**2)
        return Scores(np.where(c == UNSTATED, -wrong, value))

    return Combined({"correct": correct, "confidence": as_channel(confidence)}, merge)
