"""Stop rule: predict a group of equal outcomes from its first rollouts.

Kept: a stop rule of `AsyncConfig` for users.
"""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.rollouts.stopping.rule import Measure, StopRule, successes

__all__ = ["agreeing"]


def agreeing(*, score: Measure, first: int, above: float = 0.5) -> StopRule:
    """Stop when at least `first` rollouts have ended, all as successes or all as failures.

        c successes among f ended rollouts:    stop  <=>  f >= first and (c = 0 or c = f)

    This is a biased guess: with success probability p, a group that would have both outcomes is stopped with
    probability p^m (1 - p^(G-m)) + q^m (1 - q^(G-m)), q = 1 - p, m = `first`. Tasks near p = 1 and p = 0 give too few
    mixed groups, and their rare outcomes train less. If quick rollouts succeed more or less often than slow ones, the
    guess follows the quick ones. The metrics `stopped` count stopped rollouts.

    Args:
        score: of one trajectory.
        first: rollouts to wait for, >= 2.
        above: a score strictly above this is a success.

    Returns:
        A stop rule: (ended trajectories, group size) -> bool.

    Raises:
        InputError: first < 2; when called, a score that is NaN.

    Example:
        first 3: failure, failure -> continue; failure, failure, failure -> stop; failure, success, failure -> continue
        p 0.2, G 8, m 3: 0.2^3 (1 - 0.2^5) + 0.8^3 (1 - 0.8^5) = 0.352 of the groups are stopped though they are mixed

    Idea: dynamic sampling drops groups without contrast; this rule saves most of their rollouts.
    """
    if first < 2:
        raise InputError(f"agreeing needs first >= 2, for one attempt always agrees with itself; not {first}")

    def rule(ended: Sequence[Trajectory], size: int) -> bool:
        del size
        return len(ended) >= first and successes(ended, score, above) in (0, len(ended))

    return rule
