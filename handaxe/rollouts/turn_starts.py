"""Choose forks at the first tokens of turns.

Kept: a fork point of `forking` for users.
"""

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.rollouts.forking import Choose

__all__ = ["turn_starts"]


def turn_starts(*, count: int = 2) -> Choose:
    """Choose the first tokens of turns, evenly spread over a trunk of N turns.

        turn of place i = floor(i * N / count)        i = 0 .. count - 1, where count <= N; every turn otherwise

    The first place is the first turn, so that one branch always shares the prompt alone.

    Args:
        count: places, >= 1.

    Returns:
        Trajectory -> places for `forking(at=...)`; none for a trunk without turns.

    Raises:
        InputError: a count below 1.

    Example:
        count 2 and turns that start at 5, 20, 40, 70: 5 and 40.

    Idea: restart the conversation from its own states, as in rollouts of a search tree.
    """
    if count < 1:
        raise InputError(f"count is {count}; give 1 or more places")

    def choose(trunk: Trajectory) -> list[Branch]:
        total = len(trunk.turns)
        picked = [trunk.turns[i * total // count] for i in range(count)] if count <= total else trunk.turns
        return [Branch(trunk.id, turn.sequence, turn.start) for turn in picked]

    return choose
