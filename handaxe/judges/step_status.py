"""Scores steps by a rule: whether they went well, whatever they were good for."""

from __future__ import annotations

import numpy as np

from handaxe.errors import InputError
from handaxe.records import Group, Turn

__all__ = ["StepStatus", "step_status"]


def step_status(*, good: float = 0.8, bad: float = -0.6) -> StepStatus:
    """Make a judge that calls a step good unless something in it failed.

        r_k = bad     where a call of turn k is malformed or did not end "ok", or the turn was cut
        r_k = good    otherwise: calls that ran, an answer of whatever kind

    It stands for a process reward model that can be hacked: a needless step, or one that repeats another, is as good as
    one that was wanted, so that more of them add up to more.

    Args:
        good, bad: P(good) - P(bad) of a step, in [-1, 1], bad < good.

    Returns:
        A judge and StepJudge; the score of an attempt is the sum over its steps. It learns nothing.

    Raises:
        InputError: scores out of range.

    Example:
        turns: a call that ran, a call that failed, an answer  ->  0.8, -0.6, 0.8, score 1.0

    Idea: a synthetic process reward model, to show what a sum of step scores does that their minimum does not
    (arXiv:2504.15275).
    """
    if not -1 <= bad < good <= 1:
        raise InputError(f"step_status takes -1 <= bad < good <= 1, not {bad} and {good}")
    return StepStatus(good, bad)


class StepStatus:
    """See `step_status`."""

    def __init__(self, good: float, bad: float):
        self._good, self._bad = good, bad

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        return tuple(
            np.array([self._bad if _failed(turn) else self._good for turn in one.turns], np.float64) for one in group
        )


def _failed(turn: Turn) -> bool:
    # A tool that its machinery failed is nobody's fault.
    replies = [reply.status not in ("ok", "infra_error") for reply in turn.replies]
    return turn.finish != "stop" or bool(turn.parsed.errors) or any(replies)
