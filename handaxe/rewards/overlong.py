"""Penalizes rollouts close to the length limit."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["overlong"]


def overlong(*, limit: int, cache: int) -> Reward:
    """Give 0 to short rollouts, -1 beyond the limit, and a linear penalty between.

        R_i = 0                                      if |y_i| <= limit - cache
              ((limit - cache) - |y_i|) / cache      if limit - cache < |y_i| <= limit
              -1                                     if |y_i| > limit

    |y_i| counts the tokens of the policy over all sequences, without tool replies. Add it to another reward with
    `weighted`.

    Args:
        limit: L_max in tokens; 20480 in the paper.
        cache: L_cache in tokens, 0 < cache <= limit; 4096 in the paper.

    Returns:
        A reward with outcome [G] in [-1, 0].

    Raises:
        InputError: cache is not in (0, limit].

    Example:
        limit 20480, cache 4096; tokens 10000, 17384, 18000, 20480  ->  0, -0.24414, -0.39453, -1

    Paper: arXiv:2503.14476 (DAPO), soft overlong punishment.
    Differs: in a conversation of several turns the paper's code counts tool replies too.
    """
    if not 0 < cache <= limit:
        raise InputError(f"overlong has limit={limit} and cache={cache}; give 0 < cache <= limit")

    def score(trajectory: Trajectory) -> float:
        return max(-1.0, min(0.0, (limit - cache - trajectory.num_tokens) / cache))

    return outcome(score)
