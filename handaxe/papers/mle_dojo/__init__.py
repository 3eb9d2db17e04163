"""MLE-Dojo (arXiv:2505.07782): reward executed submissions by their position on a leaderboard."""

from handaxe import credit
from handaxe.methods.method import Method, replace
from handaxe.papers.mle_dojo.score_progress import Mode, score_progress

__all__ = ["mle_dojo"]


def mle_dojo(base: Method, *, mode: Mode = "position", progress: bool = True) -> Method:
    """Reward turns with the increase of the best position score, and compare turns of one index.

    Args:
        mode: position, or raw for the metric itself.
        progress: reward increases of the best score; off: each score, as the released environment.
    """
    return replace(
        base,
        reward=score_progress(mode=mode, progress=progress),
        credit=credit.turn_norm(norm="index", order="sum_first"),
    )
