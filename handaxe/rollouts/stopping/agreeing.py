"""Guess that a group is all alike once its first attempts are."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.rollouts.stopping.rule import Measure, StopRule, successes

__all__ = ["agreeing"]


def agreeing(*, score: Measure, first: int, above: float = 0.5) -> StopRule:
    """Stop when at least `first` attempts have ended, and all that ended succeeded, or all failed.

        c successes among f ended attempts:    stop  <=>  f >= first and (c = 0 or c = f)

    A guess, and biased: with a chance p of success, a group that would have held both outcomes is stopped with
    probability p^m (1 - p^(G-m)) + q^m (1 - q^(G-m)), q = 1 - p, m = `first`. So tasks near p = 1 and p = 0 give fewer
    mixed groups than they should, and their rare outcomes are learnt from less. Where quick attempts succeed more or
    less often than slow ones, the guess is made on the quick ones. What is stopped is counted in the metrics `stopped`.

    Args:
        score: of one trajectory.
        first: attempts to wait for, >= 2.
        above: a score strictly above this is a success.

    Returns:
        A stop rule: (ended trajectories, group size) -> bool.

    Raises:
        InputError: first < 2; when asked, a score that is NaN.

    Example:
        first 3: failure, failure -> go on; failure, failure, failure -> stop; failure, success, failure -> go on
        p 0.2, G 8, m 3: 0.2^3 (1 - 0.2^5) + 0.8^3 (1 - 0.8^5) = 0.352 of the groups are stopped though they are mixed

    Idea: dynamic sampling drops groups without contrast; this one does so before they are paid for.
    """
    if first < 2:
        raise InputError(f"agreeing needs first >= 2, for one attempt always agrees with itself; not {first}")

    def rule(ended: Sequence[Trajectory], size: int) -> bool:
        del size
        return len(ended) >= first and successes(ended, score, above) in (0, len(ended))

    return rule
