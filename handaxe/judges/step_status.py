"""Scores steps by the status of their calls, independent of their use."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Trajectory, Turn

__all__ = ["StepStatus", "step_status"]


def step_status(*, good: float = 0.8, plain: float = 0.2, bad: float = -0.6) -> StepStatus:
    """Make a judge that prefers successful calls, useful or not.

        r_k = bad      if a call of turn k is malformed or its reply is neither "ok" nor "infra_error", if the turn was
                       truncated, and in the last turn of a truncated rollout
        r_k = good     else, if turn k has a call
        r_k = plain    else: any answer

    It models a process reward model that can be hacked: a needless or repeated call scores as well as a needed one, so
    more calls add up to more. It does not distinguish correct from wrong answers.

    Args:
        good, plain, bad: P(good) - P(bad) of a step, in [-1, 1], bad < plain <= good.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. It does not learn.

    Raises:
        InputError: scores out of range.

    Example:
        turns: a successful call, a failed call, an answer  ->  0.8, -0.6, 0.2, score 0.4

    Idea: a synthetic process reward model that shows the difference between the sum of step scores and their minimum
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
    # Infrastructure errors are no fault of the policy.
    replies = [reply.status not in ("ok", "infra_error") for reply in turn.replies]
    return turn.finish != "stop" or bool(turn.parsed.errors) or any(replies)
