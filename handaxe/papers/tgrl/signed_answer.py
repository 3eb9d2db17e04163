"""Rewards right answers, punishes wrong ones, and leaves attempts without an answer alone."""

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
    """Give 1 for a right answer, -1 for a wrong one and 0 where there is none.

        R_i =  1    where correct_i > correct_above
            =  0    elsewhere, if answer(trajectory_i) is blank
            = -1    elsewhere

    Args:
        correct: what tells right from wrong.
        answer: the answer that an attempt gives; "" for none.
        correct_above: right is an outcome of `correct` strictly above this.

    Returns:
        A reward with outcome [G] and the channels "correct" and "answered" (1 or 0).

    Raises:
        InputError: a reward `correct` with per-turn values.

    Example:
        "4" where 4 is right, "5", ""  ->  1, -1, 0

    Paper: arXiv:2510.11184 (TGRL), R_outcome.
    Differs: nothing known.
    Unconfirmed: that each of its two parts is -1, 0 or 1; only their sum's range of -2 to 2 is known.
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        right = outcome_only(parts["correct"], "correct").outcome > correct_above
        return Scores(np.where(right, 1.0, -parts["answered"].outcome))

    return Combined({"correct": correct, "answered": outcome(lambda one: bool(answer(one).strip()))}, merge)
