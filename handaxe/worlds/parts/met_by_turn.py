"""Criteria of a trajectory by the state after each turn."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.records import Criterion, Trajectory
from handaxe.worlds.world import Facts

__all__ = ["met_by_turn"]


def met_by_turn(
    trajectory: Trajectory, criteria: Sequence[Criterion], met: Callable[[Facts], Sequence[bool]]
) -> np.ndarray:
    """Check criteria by the facts of each turn; met criteria stay met.

        met[c, n] = met(facts of turn n)[c]  or  met[c, n - 1];   a turn without facts meets no criterion

    Args:
        criteria: C criteria.
        met: facts of a turn -> [C], in the order of the criteria.

    Returns:
        [C, N] bool over criteria and turns, the result of a `core.protocols.Check`.

    Example:
        one criterion "3 left", left 4, 3 and 5 after three turns  ->  False, True, True

    Idea: progress in a world is a state that was reached once, even if a later turn leaves the state.
    """
    met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
    for n, turn in enumerate(trajectory.turns):
        if turn.facts:
            met_CN[:, n] = met(turn.facts)
    return np.logical_or.accumulate(met_CN, axis=1)
