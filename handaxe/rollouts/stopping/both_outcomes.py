"""Stop rule: end a group once it has enough successes and failures.

Kept: a stop rule of `AsyncConfig` for users.
"""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.rollouts.stopping.rule import Measure, StopRule, successes

__all__ = ["both_outcomes"]


def both_outcomes(*, score: Measure, each: int, above: float = 0.5) -> StopRule:
    """Stop when at least `each` rollouts succeeded and at least `each` failed.

        c successes among f ended rollouts:    stop  <=>  c >= each and f - c >= each

    Biased: the group ends on the missing outcome, which moves its share of successes (as in any sampling that stops on
    a count) and its baseline towards one half. Quick rollouts are over-represented, as in over-provisioning. The
    metrics `stopped` count stopped rollouts.

    Args:
        score: of one trajectory.
        each: rollouts wanted per outcome, >= 1.
        above: a score strictly above this is a success.

    Returns:
        A stop rule: (ended trajectories, group size) -> bool.

    Raises:
        InputError: each < 1; when called, a score that is NaN.

    Example:
        each 2: success, failure, failure -> continue; success, failure, failure, success -> stop
        each 1, G 8, chance of success 0.2: the expected share of successes in a group becomes 0.296 instead of 0.2

    Idea: inverse sampling; a group-normalised advantage learns from contrast.
    """
    if each < 1:
        raise InputError(f"both_outcomes needs each >= 1, not {each}")

    def rule(ended: Sequence[Trajectory], size: int) -> bool:
        del size
        right = successes(ended, score, above)
        return right >= each and len(ended) - right >= each

    return rule
