"""Reward of a trajectory: F1 of solved sub-questions over needed ones and calls."""

from __future__ import annotations

from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.solved import match_results, read_unsolved

__all__ = ["Measure", "trajectory_f1"]

Measure = Literal["f1", "recall", "precision"]


def trajectory_f1(*, measure: Measure = "f1", eps: float = 1e-6) -> Reward:
    """Score a trajectory by its solved sub-questions.

        n   sub-questions of the task that need a tool
        h   of these, solved: a reply of the sub-question's tool contains its answer, each counted once
        c   calls, malformed ones included
        r = h / n     p = h / (c + eps)     R = 2 p r / (p + r), 0 for h = 0

    Args:
        measure: "f1" (the paper's), "recall" (r) or "precision" (p), for comparisons.
        eps: avoids a division by 0.

    Returns:
        A reward with outcome [G], 0 to 1. The task has `metadata["unsolved"]`, {tool: [answer, ...]}; 0 without a call.

    Raises:
        TaskError: the task lacks the sub-questions. InputError: an unknown measure.

    Example:
        (n, h, c) = (5, 4, 6): r = 0.8, p = 0.6667, R = 0.7273;  (5, 5, 5): 1;  (5, 5, 15): 0.5;  (4, 0, 0): 0

    Paper: arXiv:2601.21558 (ASTRA), the trajectory reward.
    Unconfirmed: the formula is from summaries of the paper; eps is not in them.
    Differs: nothing.
    """
    if measure not in ("f1", "recall", "precision"):
        raise InputError(f"unknown measure {measure!r}; give f1, recall or precision")

    def score(trajectory: Trajectory) -> float:
        unsolved = read_unsolved(trajectory.task)
        needed = sum(map(len, unsolved.values()))
        solved = sum(match_results(trajectory.replies, unsolved)[0])
        calls = len(trajectory.calls) + sum(len(turn.parsed.errors) for turn in trajectory.turns)
        recall = solved / needed if needed else 0.0
        precision = solved / (calls + eps)
        if measure != "f1":
            return recall if measure == "recall" else precision
        return 2 * precision * recall / (precision + recall) if solved else 0.0

    return outcome(score)
