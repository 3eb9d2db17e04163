"""Reward of 1, 0 or -1 for correct, missing and wrong answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.parts.extract import final_text

__all__ = ["signed_answer"]


def signed_answer(
    *, correct: Reward, answer: Callable[[Trajectory], str] = final_text, correct_above: float = 0.5
) -> Reward:
    """Score 1 for a correct answer, -1 for a wrong one and 0 for none.

        R_i =  1    if correct_i > correct_above
            =  0    else, if answer(trajectory_i) is blank
            = -1    otherwise

    Args:
        correct: reward that decides correctness.
        answer: trajectory -> answer text; "" for none.
        correct_above: an outcome of `correct` above this is correct.

    Returns:
        A reward with outcome [G] and the channels "correct" and "answered" (1 or 0).

    Raises:
        InputError: a reward `correct` with per-turn values.

    Example:
        "4" if 4 is correct, "5", ""  ->  1, -1, 0

    Paper: arXiv:2510.11184 (TGRL), R_outcome.
    Differs: nothing known.
    Unconfirmed: each of the two parts is -1, 0 or 1; only the range of their sum, -2 to 2, is known.
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        correct_G = outcome_only(parts["correct"], "correct").outcome > correct_above
        return Scores(np.where(correct_G, 1.0, -parts["answered"].outcome))

    return Combined({"correct": correct, "answered": outcome(lambda one: bool(answer(one).strip()))}, merge)
