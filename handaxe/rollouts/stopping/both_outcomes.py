"""Stop a group when there is enough of both outcomes to learn from."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.rollouts.stopping.rule import Measure, StopRule, successes

__all__ = ["both_outcomes"]


def both_outcomes(*, score: Measure, each: int, above: float = 0.5) -> StopRule:
    """Stop when at least `each` attempts succeeded and at least `each` failed.

        c successes among f ended attempts:    stop  <=>  c >= each and f - c >= each

    Biased: the group ends on the outcome that was missing, so its share of successes is pulled towards one half (as
    in any sampling that stops on a count), and the group's baseline with it. Quick attempts are over-represented, as in
    over-provisioning. What is stopped is counted in the metrics `stopped`.

    Args:
        score: of one trajectory.
        each: attempts wanted of each outcome, >= 1.
        above: a score strictly above this is a success.

    Returns:
        A stop rule: (ended trajectories, group size) -> bool.

    Raises:
        InputError: each < 1; when asked, a score that is NaN.

    Example:
        each 2: success, failure, failure -> go on; success, failure, failure, success -> stop
        each 1, G 8, chance of success 0.2: the expected share of successes in a group becomes 0.296 instead of 0.2

    Idea: inverse sampling; contrast is what a group-normalised advantage learns from.
    """
    if each < 1:
        raise InputError(f"both_outcomes needs each >= 1, not {each}")

    def rule(ended: Sequence[Trajectory], size: int) -> bool:
        del size
        right = successes(ended, score, above)
        return right >= each and len(ended) - right >= each

    return rule
