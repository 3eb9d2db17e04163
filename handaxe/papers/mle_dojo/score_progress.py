"""Rewards of turns from executed submissions: the increase of the best score, or the score itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.mle_dojo.competitions import dojo_log
from handaxe.rewards.per_turn import per_turn

__all__ = ["Mode", "best_increases", "score_progress", "turn_scores"]

Mode = Literal["position", "raw"]


def best_increases(scores: Sequence[float | None]) -> list[float]:
    """Compute the increase of the best score so far at each entry.

        b_k = max(b_{k-1}, x_k), b_0 = 0        r_k = b_k - b_{k-1}; 0 without a score

    The increases sum to the best score.

    Example:
        [0.5, None, 0.25, 0.75] -> [0.5, 0, 0, 0.25]
    """
    best = 0.0
    found: list[float] = []
    for score in scores:
        now = best if score is None else max(best, score)
        found.append(now - best)
        best = now
    return found


def turn_scores(one: Trajectory, mode: Mode) -> list[float | None]:
    """Best score of the executions of each turn; None without a valid submission.

    Scores before a reset count, so that no reset makes room for a second reward.
    """
    scores = {row["call"]: row[mode] for row in dojo_log(one) if row["action"] == "execute"}
    found: list[float | None] = []
    for turn in one.turns:
        own = [scores.get(reply.call_id) for reply in turn.replies]
        found.append(max((score for score in own if score is not None), default=None))
    return found


def score_progress(*, mode: Mode = "position", progress: bool = True) -> Reward:
    """Reward turns with executed submissions.

        r_k = b_k - b_{k-1}        b_k: best score of the first k turns, 0 before the first; see `best_increases`
        r_k = x_k                  without progress, 0 for a turn without a valid submission

    x_k is the position score ("position"), or the metric ("raw"), as large for a low error as for a high one: in a
    competition with an error as metric, "raw" rewards bad submissions.

    Args:
        mode: score of a submission.
        progress: reward increases of the best score instead of each score.

    Returns:
        A reward of turns with outcome 0.

    Raises:
        InputError: another mode.

    Example:
        position scores 0.5, none, 0.25, 0.75 of four turns -> 0.5, 0, 0, 0.25; without progress 0.5, 0, 0.25, 0.75

    Paper: arXiv:2505.07782 (MLE-Dojo), reward of a step in both modes of the released environment.
    Differs: the environment rewards each score; the increase of the best score is the default here, so that a repeated
    submission earns nothing.
    """
    if mode not in ("position", "raw"):
        raise InputError(f"mode is position or raw, not {mode!r}")

    def score(one: Trajectory) -> list[float]:
        found = turn_scores(one, mode)
        return best_increases(found) if progress else [value or 0.0 for value in found]

    return per_turn(score)
