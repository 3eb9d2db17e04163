"""Chooses forks at the last decision of a rollout that ended early."""

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.rollouts.forking import Choose

__all__ = ["early_ends"]


def early_ends(*, rounds: Callable[[Trajectory], int], turns: int = 4, copies: int = 1) -> Choose:
    """Choose the start of the last turn of a completed rollout with fewer rounds than allowed.

        places = `copies` times the first token of the last turn,   if 1 <= rounds < turns - 1; else none

    The forks keep the images, and decide again whether to end.

    Args:
        rounds: trajectory -> number of images.
        turns: turns that a rollout may have; the last one ends it.
        copies: forks of a rollout, >= 0.

    Returns:
        Trajectory -> places for `forking(at=...)`.

    Raises:
        InputError: a number out of range.

    Example:
        turns that start at 5, 20 and 40, two images, turns 4, copies 2  ->  40, 40

    Paper: arXiv:2601.18543 (GenAgent), its trajectory resampling.
    Differs: a fork may end again; the paper forces another round.
    Unconfirmed: the number of forks.
    """
    if turns < 1 or copies < 0:
        raise InputError(f"early_ends has turns={turns} and copies={copies}; give 1 or more, and 0 or more")

    def choose(trunk: Trajectory) -> list[Branch]:
        if trunk.ending.kind != "completed" or not 1 <= rounds(trunk) < turns - 1:
            return []
        last = trunk.turns[-1]
        return [Branch(trunk.id, last.sequence, last.start)] * copies

    return choose
