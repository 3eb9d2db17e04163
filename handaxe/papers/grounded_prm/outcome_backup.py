"""Back-up of a tree search by outcomes alone."""

from collections.abc import Sequence

from handaxe.rollouts.search.verdict_backup import BackUp

__all__ = ["outcome_backup"]


def outcome_backup() -> BackUp:
    """Make the back-up of Monte-Carlo labels: every node on the way gets the outcome, regardless of its steps.

        the node the simulation began at += F, each of its ancestors += F           F in {-1, 1}

    The value of a node divided by its visits is 2 p - 1, with p the share of simulations from it that ended correctly.

    Returns:
        A BackUp.

    Example:
        v = 1, -1 and F = 1, two ancestors: 1, 1, 1

    Idea: step labels by completion alone, which GroundedPRM (arXiv:2510.14942) compares with.
    """

    def back_up(verdicts: Sequence[float], final: float, ancestors: int) -> list[float]:
        del verdicts
        return [final] * (ancestors + 1)

    return back_up
