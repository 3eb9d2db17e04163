"""Position of a score on a leaderboard, and the score of the position."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["board_position", "human_rank", "position_score"]


def board_position(score: float, board: Sequence[float], *, higher: bool = True) -> int:
    """Count the strictly better entries of a leaderboard, and add 1.

    Example:
        0.85 on [0.95, 0.90, 0.80, 0.70] -> 3
    """
    entries = np.asarray(board, dtype=np.float64)
    better = entries > score if higher else entries < score
    return 1 + int(better.sum())


def position_score(score: float, board: Sequence[float], *, higher: bool = True) -> float:
    """Score the position on a leaderboard.

        p = 1 + |{entries strictly better than the score}|        s = (n - p + 1) / n

    Args:
        score: metric of a submission, finite.
        board: metrics of n >= 1 entries, in any order.
        higher: a higher metric is better.

    Returns:
        s from 0, worse than all entries, to 1, no entry better. A tie has the position of the tied entry.

    Raises:
        InputError: an empty board, or a number that is not finite.

    Example:
        board [0.95, 0.90, 0.80, 0.70]: 0.85 -> p = 3, s = 0.5; 0.5 -> p = 5, s = 0; 0.99 -> s = 1

    Paper: arXiv:2505.07782 (MLE-Dojo), reward of an executed submission, as in the released environment.
    Differs: nothing.
    """
    entries = np.asarray(board, dtype=np.float64)
    if entries.ndim != 1 or not entries.size or not np.isfinite(entries).all() or not np.isfinite(score):
        raise InputError(f"a position needs a finite score and a board of finite entries, not {score} and {board}")
    return (len(entries) - board_position(score, board, higher=higher) + 1) / len(entries)


def human_rank(scores: Sequence[float], boards: Sequence[Sequence[float]], *, higher: bool = True) -> float:
    """Average the position scores over leaderboards, such as the public and the private one.

    Args:
        scores: metric of the submission for each board.
        boards: one or more leaderboards.
        higher: a higher metric is better.

    Raises:
        InputError: numbers of scores and boards differ, or are 0.

    Example:
        position scores 0.5 and 1 -> 0.75
    """
    if not boards or len(scores) != len(boards):
        raise InputError(f"give one score for each of one or more boards, not {len(scores)} and {len(boards)}")
    pairs = zip(scores, boards, strict=True)
    return sum(position_score(score, board, higher=higher) for score, board in pairs) / len(boards)
