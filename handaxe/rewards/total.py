"""Adds the per-turn rewards of a reward into its outcome.

Idea: a mechanism that knows outcomes alone can then read any reward.
"""

from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.combined import Combined

__all__ = ["total"]


def total(reward: Reward) -> Reward:
    """Add the per-turn rewards, once, into the outcome.

        outcome_i' = outcome_i + sum_n turns_i[n]        turns' = None

    Returns:
        A reward without per-turn values. Channels are kept; the values added stay readable as turn_channels["turns"].

    Example:
        outcome (1, 0), turns ((0.5, 0.25), ())  ->  outcome (1.75, 0)
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["total"]
        if part.turns is None:
            return part
        value = part.outcome + np.array([turn.sum() for turn in part.turns])
        return replace(part, outcome=value, turns=None, turn_channels={**part.turn_channels, "turns": part.turns})

    return Combined({"total": reward}, merge, keep_apart=False)
