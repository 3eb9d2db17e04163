"""Reward that separates correct from incorrect answers by a margin and is highest for calibrated confidence (MSCR)."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.papers.calibrated.confidence import UNSTATED, Confidence, confidence_channel, stated_confidence
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["margin_confidence"]


def margin_confidence(
    *,
    correct: Reward,
    confidence: Confidence = stated_confidence,
    bonus: float = 0.5,
    penalty: float = 0.5,
    correct_above: float = 0.5,
) -> Reward:
    """Reward correct answers with at least 1, rising in confidence, and incorrect ones with at most 0, falling in it.

        R_i = 1 + b1 (1 - (1 - c_i)^2)    if correct_i > correct_above              1 .. 1 + b1
            = -b2 c_i^2                   otherwise                                 -b2 .. 0
            = -b2                         without a stated confidence, correct or incorrect

    A correct answer with a stated confidence earns at least 1 more than any incorrect one. With b1 = b2 the expected
    reward of an answer that is correct with probability q is highest at c = q.

    Args:
        correct: reward that decides correctness.
        confidence: stated confidence of a trajectory, 0 to 1; None without one.
        bonus: b1, >= 0; 0.5 is a guess.
        penalty: b2, >= 0; 0.5 is a guess.
        correct_above: an outcome of `correct` above this is correct.

    Returns:
        A reward with outcome [G] and the channels "correct" and "confidence" (-1 without a stated confidence).

    Raises:
        InputError: b1 or b2 below 0 or not finite; a reward `correct` with per-turn values.
        VerifierError: a confidence outside 0 to 1.

    Example:
        b1 = b2 = 0.5: correct with c 0.9 and 0.1, incorrect with c 0.9 and 0.1  ->  1.495, 1.095, -0.405, -0.005

    Paper: arXiv:2601.07264 (the confidence dichotomy), MSCR.
    Differs: nothing known.
    Unconfirmed: the form of both terms, b1 and b2: the summaries state only that correct answers score above incorrect
    ones, that false confidence is punished, and that an answer in another form gets the lowest reward.
    """
    for name, value in (("bonus", bonus), ("penalty", penalty)):
        if not 0 <= value < float("inf"):
            raise InputError(f"{name} is {value}; give a finite number of 0 or more")

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        z = outcome_only(parts["correct"], "correct").outcome > correct_above
        c = parts["confidence"].outcome
        value = np.where(z, 1 + bonus * (1 - (1 - c) ** 2), -penalty * c**2)
        return Scores(np.where(c == UNSTATED, -penalty, value))

    return Combined({"correct": correct, "confidence": confidence_channel(confidence)}, merge)
