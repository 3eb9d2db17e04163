"""Reward for correctness, minus the Brier score of the stated confidence (RLCR)."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.papers.calibrated.confidence import UNSTATED, Confidence, confidence_channel, stated_confidence
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["brier_confidence"]


def brier_confidence(
    *, correct: Reward, confidence: Confidence = stated_confidence, correct_above: float = 0.5
) -> Reward:
    """Reward a correct answer with 1, minus the Brier score of its confidence.

        R_i = z_i - (c_i - z_i)^2         z_i = 1 if correct_i > correct_above, else 0;  in [-1, 1]
            = -1                          without a stated confidence: the lowest reward

    A correct answer with c = 0 earns the same as an incorrect one with c = 0.

    Args:
        correct: reward that decides correctness.
        confidence: stated confidence of a trajectory, 0 to 1; None without one.
        correct_above: an outcome of `correct` above this is correct.

    Returns:
        A reward with outcome [G] and the channels "correct" and "confidence" (-1 without a stated confidence).

    Raises:
        InputError: a reward `correct` with per-turn values.
        VerifierError: a confidence outside 0 to 1.

    Example:
        correct with c 0.9 and 0.1, incorrect with c 0.9 and 0.1  ->  0.99, 0.19, -0.81, -0.01

    Paper: arXiv:2601.07264 (the confidence dichotomy), the reward of RLCR that it compares with.
    Differs: nothing known; the paper does not specify the reward of an answer without a confidence.
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        z = (outcome_only(parts["correct"], "correct").outcome > correct_above).astype(np.float64)
        c = parts["confidence"].outcome
        return Scores(np.where(c == UNSTATED, -1.0, z - (c - z) ** 2))

    return Combined({"correct": correct, "confidence": confidence_channel(confidence)}, merge)
