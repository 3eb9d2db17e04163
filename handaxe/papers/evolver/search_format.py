"""Reward for the form of a rollout: thoughts, and searches of two kinds."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory

__all__ = ["search_format"]

BY_THOUGHTS = (0.0, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 0.0, 0.0)
"""Score of 0 to 8 thoughts."""
MANY = 0.5
"""Score of more thoughts."""


def search_format(*, kinds: tuple[str, str] = ("principles", "search")) -> Reward:
    """Score the number of turns, and the number and kinds of searches.

        R = (thoughts + searches) / 2        0 without a search, or if the last turn is no answer
        thoughts = 0.2, 0.3, 0.4, 0.6, 0.8, 1 for 1 to 6 turns, 0 for 7 and 8, 0.5 for more
        searches = (0.5 with both kinds, else 0.2) + min(0.1 (n - 1), 0.5)        n searches

    Args:
        kinds: names of the two search tools.

    Returns:
        A reward with outcome [G].

    Raises:
        InputError: the names are equal.

    Example:
        4 turns, of which 3 search, with both tools: (0.6 + 0.5 + 0.2) / 2 = 0.65

    Paper: arXiv:2510.16079 (EvolveR), the released format reward, 0 for 7 and 8 thoughts included.
    Differs: a turn counts as a thought; the paper's policy marks thoughts with tags.
    """
    if len(set(kinds)) < 2:
        raise InputError(f"kinds are two names of tools, not {kinds}")

    def reward(group: Group) -> Scores:
        return Scores(np.array([_form(one, kinds) for one in group], np.float64))

    return reward


def _form(one: Trajectory, kinds: tuple[str, str]) -> float:
    names = [call.name for call in one.calls if call.name in kinds]
    if not names or not one.final_text.strip() or one.turns[-1].parsed.calls:
        return 0.0
    thoughts = BY_THOUGHTS[len(one.turns)] if len(one.turns) < len(BY_THOUGHTS) else MANY
    searches = (0.5 if len(set(names)) > 1 else 0.2) + min(0.1 * (len(names) - 1), 0.5)
    return (thoughts + searches) / 2
