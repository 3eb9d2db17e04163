"""Scores steps by a rule: whether they called something that ran, whatever it was good for."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Trajectory, Turn

__all__ = ["StepStatus", "step_status"]


def step_status(*, good: float = 0.8, plain: float = 0.2, bad: float = -0.6) -> StepStatus:
    """Make a judge that likes calls that ran, whatever they were good for.

        r_k = bad      where a call of turn k is malformed or its reply is neither "ok" nor "infra_error", where the
                       turn was cut, and in the last turn of an attempt that was cut
        r_k = good     else, where turn k called something
        r_k = plain    else: an answer of whatever kind

    It stands for a process reward model that can be hacked: a needless call, or one that repeats another, is as good as
    one that was wanted, so that more of them add up to more. It cannot tell right answers from wrong ones.

    Args:
        good, plain, bad: P(good) - P(bad) of a step, in [-1, 1], bad < plain <= good.

    Returns:
        A judge and StepJudge; the score of an attempt is the sum over its steps. It learns nothing.

    Raises:
        InputError: scores out of range.

    Example:
        turns: a call that ran, a call that failed, an answer  ->  0.8, -0.6, 0.2, score 0.4

    Idea: a synthetic process reward model, to show what a sum of step scores does that their minimum does not
    (arXiv:2504.15275).
    """
    if not -1 <= bad < plain <= good <= 1:
        raise InputError(f"step_status takes -1 <= bad < plain <= good <= 1, not {bad}, {plain} and {good}")
    return StepStatus(good, plain, bad)


class StepStatus:
    """See `step_status`."""

    def __init__(self, good: float, plain: float, bad: float):
        self._good = good
        self._plain = plain
        self._bad = bad

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        return tuple(np.array([self._of(one, turn) for turn in one.turns], np.float64) for one in group)

    def _of(self, one: Trajectory, turn: Turn) -> float:
        cut = one.ending.kind == "truncated" and turn is one.turns[-1]
        if cut or _failed(turn):
            return self._bad
        return self._good if turn.parsed.calls else self._plain


def _failed(turn: Turn) -> bool:
    # What failed in a tool's machinery is no fault of the policy.
    replies = [reply.status not in ("ok", "infra_error") for reply in turn.replies]
    return turn.finish != "stop" or bool(turn.parsed.errors) or any(replies)
