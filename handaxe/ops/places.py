"""Which of the policy's tokens are meant: functions from a trajectory to [P] bool, in the order of `ops.ragged`."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.ops.ragged import first_of_turn, turn_of_token

__all__ = ["Where", "in_calls", "in_turn"]

Where = Callable[[Trajectory], np.ndarray]
"""Trajectory -> [P] bool, one a policy token in the order they were written."""


def in_calls(*names: str) -> Where:
    """The tokens of well-formed tool calls: every token that holds a character of one, its marks included.

    Args:
        names: of the tools; of all where none is given.

    Returns:
        Trajectory -> [P] bool. It raises InputError for a trajectory whose chat format did not tell where calls stand.

    Example:
        a turn "So <CALL>add 1<CALL_END><END>" of Compact: S o and the blank are out, <CALL> to <CALL_END> in, <END> out
    """

    def where(trajectory: Trajectory) -> np.ndarray:
        chosen_P = np.zeros(trajectory.num_tokens, bool)
        for turn, start in zip(trajectory.turns, first_of_turn(trajectory)):
            spans, calls = turn.parsed.spans, turn.parsed.calls
            if len(spans) != len(calls):
                raise InputError(
                    f"trajectory {trajectory.id!r} does not say where in its tokens the calls stand: its chat format "
                    "gives no ParsedTurn.spans, or it is of a record from before there were any"
                )
            for (first, stop), call in zip(spans, calls):
                if not names or call.name in names:
                    chosen_P[start + first : start + stop] = True
        return chosen_P

    return where


def in_turn(k: int) -> Where:
    """The tokens of the k-th turn, counted from 0, or from the last one with -1; none where there is no such turn.

    Example:
        turns of 2, 1 and 3 tokens: in_turn(0) is 1 1 0 0 0 0, in_turn(-1) is 0 0 0 1 1 1
    """

    def where(trajectory: Trajectory) -> np.ndarray:
        meant = k if k >= 0 else len(trajectory.turns) + k
        return turn_of_token(trajectory) == meant

    return where
