"""Masks over the policy's tokens: functions from a trajectory to [P] bool, in the order of `ops.ragged`."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory
from handaxe.ops.ragged import token_turn_indices, turn_start_indices

__all__ = ["TokenMask", "tool_call_tokens", "turn_tokens"]

TokenMask = Callable[[Trajectory], np.ndarray]
"""Trajectory -> [P] bool, one entry for each policy token in the order of sampling."""


def tool_call_tokens(*names: str) -> TokenMask:
    """Mask the tokens of well-formed tool calls: every token with a character of a call, delimiters included.

    Args:
        names: names of tools; without names, all tools.

    Returns:
        Trajectory -> [P] bool. It raises InputError for a trajectory without positions of its calls.

    Example:
        a turn "So <CALL>add 1<CALL_END><END>" of Compact: "S", "o" and the blank are out, <CALL> to <CALL_END> are in,
        <END> is out
    """

    def mask(trajectory: Trajectory) -> np.ndarray:
        chosen_P = np.zeros(trajectory.num_tokens, bool)
        for turn, start in zip(trajectory.turns, turn_start_indices(trajectory)):
            spans, calls = turn.parsed.spans, turn.parsed.calls
            if len(spans) != len(calls):
                raise InputError(
                    f"trajectory {trajectory.id!r} lacks the token positions of its calls: its chat format gives no "
                    "ParsedTurn.spans, or the record was written before that field existed"
                )
            for (first, stop), call in zip(spans, calls):
                if not names or call.name in names:
                    chosen_P[start + first : start + stop] = True
        return chosen_P

    return mask


def turn_tokens(k: int) -> TokenMask:
    """Mask the tokens of the k-th turn, counted from 0, or from the last with -1; nothing if there is no such turn.

    Example:
        turns of 2, 1 and 3 tokens: turn_tokens(0) is 1 1 0 0 0 0, turn_tokens(-1) is 0 0 0 1 1 1
    """

    def mask(trajectory: Trajectory) -> np.ndarray:
        index = k if k >= 0 else len(trajectory.turns) + k
        return token_turn_indices(trajectory) == index

    return mask
