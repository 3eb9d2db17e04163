"""Rewards decisions after an image: another image that is better, or an end at a good one."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["reflection"]


def reflection(*, qualities: Callable[[Trajectory], Sequence[float]], good: float = 1.0) -> Reward:
    """Compare each image with the one before.

        q_1, ..., q_n    quality of the images of a rollout, in order
        R = 0                                                n = 0
        R = 1[q_1 >= good]                                   n = 1: the policy chose to end
        R = mean over k = 1 .. n - 1 of 1[q_(k+1) > q_k]     n > 1: it chose to refine

    Args:
        qualities: trajectory -> quality of each image.
        good: least quality at which an end without refinement is right.

    Returns:
        A reward with outcome [G], 0 to 1.

    Raises:
        InputError: `good` is not finite.

    Example:
        qualities 0.4, 0.7 -> 1;  0.7, 0.7 -> 0;  0.4, 0.7, 0.5 -> 0.5;  1 -> 1;  0.9 -> 0

    Paper: arXiv:2601.18543 (GenAgent), its pairwise reward.
    Differs: qualities are known by construction; a model judges the images in the paper.
    Unconfirmed: the value of an end, and the mean over several refinements.
    """
    if not abs(good) < float("inf"):
        raise InputError(f"good is {good}; give a finite quality")

    def score(trajectory: Trajectory) -> float:
        found = qualities(trajectory)
        if len(found) < 2:
            return float(bool(found) and found[0] >= good)
        better = [after > before for before, after in pairwise(found)]
        return sum(better) / len(better)

    return outcome(score)
