"""Stop rule: end a group once its selector is certain to drop it.

Kept: a stop rule of `AsyncConfig` for users.
"""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.rollouts.stopping.rule import Measure, StopRule, successes

__all__ = ["decided"]


def decided(*, score: Measure, low: float = 0.0, high: float = 1.0, above: float = 0.5) -> StopRule:
    """Stop when the group's share of successes is certain to end at `low` or below, or at `high` or above.

        c successes among f ended rollouts of a group of G:
        stop  <=>  (c + G - f) / G <= low   or   c / G >= high

    Exact for a run whose selector drops such groups: every stopped rollout would have been dropped, so training is
    unchanged. With low 0 and high 1 (plain dynamic sampling) only a whole group decides, and nothing is saved; a
    narrower band decides earlier. Rollouts with infrastructure failures count as open, which delays the decision.

    Args:
        score: of one trajectory.
        low, high: shares in [0, 1], low < high; the same as the selector's.
        above: a score strictly above this is a success.

    Returns:
        A stop rule: (ended trajectories, group size) -> bool. It counts trajectories, so it is exact for rollouts of
        one trajectory each. Without ended trajectories it returns False.

    Raises:
        InputError: shares out of order; when called, a score that is NaN.

    Example:
        G 8, low 0.25, high 0.75: 1 success and 6 failures -> at most 2 of 8, stop; 6 successes -> stop;
        5 successes and 2 failures -> continue

    Idea: dynamic sampling (arXiv:2503.14476) with a band of accuracies, decided at the first certain moment.
    """
    if not 0 <= low < high <= 1:
        raise InputError(f"decided needs 0 <= low < high <= 1, not low {low} and high {high}")

    def rule(ended: Sequence[Trajectory], size: int) -> bool:
        if not ended:
            return False
        right, whole = successes(ended, score, above), max(size, len(ended))
        return right + whole - len(ended) <= low * whole or right >= high * whole

    return rule
