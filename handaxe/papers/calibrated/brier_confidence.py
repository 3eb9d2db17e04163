"""Rewards being right, less the square of how far the stated confidence is from it."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.papers.calibrated.confidence import UNSTATED, Confidence, as_channel, stated_confidence
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["brier_confidence"]


def brier_confidence(
    *, correct: Reward, confidence: Confidence = stated_confidence, correct_above: float = 0.5
) -> Reward:
    """Give 1 for a right answer, less the Brier score of the confidence it is stated with.

        R_i = z_i - (c_i - z_i)^2         z_i = 1 where correct_i > correct_above, else 0;  in [-1, 1]
            = -1                          where no confidence is stated: the worst that there is

    A right answer with c = 0 is worth as much as a wrong one with c = 0.

    Args:
        correct: what tells right from wrong.
        confidence: how sure an attempt says it is, 0 to 1; None where it does not say.
        correct_above: right is an outcome of `correct` strictly above this.

    Returns:
        A reward with outcome [G] and the channels "correct" and "confidence" (-1 where none is stated).

    Raises:
        InputError: a reward `correct` with per-turn values.
        VerifierError: a confidence outside 0 to 1.

    Example:
        right with c 0.9 and 0.1, wrong with c 0.9 and 0.1  ->  0.99, 0.19, -0.81, -0.01

    Paper: arXiv:2601.07264 (the confidence dichotomy), the reward of RLCR that it compares with.
    Differs: nothing known; the paper does not say what an answer without a confidence earns.
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        z = (outcome_only(parts["correct"], "correct").outcome > correct_above).astype(np.float64)
        c = parts["confidence"].outcome
        return Scores(np.where(c == UNSTATED, -1.0, z - (c - z) ** 2))

    return Combined({"correct": correct, "confidence": as_channel(confidence)}, merge)
