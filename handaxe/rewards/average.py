"""Adds the mean of the per-turn rewards of a reward to its outcome.

Idea: what is checked in every turn is worth as much in a short attempt as in a long one.
"""

from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.combined import Combined

__all__ = ["average"]


def average(reward: Reward) -> Reward:
    """Add the mean of the per-turn rewards into the outcome; `total` adds their sum.

        outcome_i' = outcome_i + (1 / N_i) sum_n turns_i[n]        turns' = None        without a turn: outcome_i

    Returns:
        A reward without per-turn values. Channels are kept; the values stay readable as turn_channels["turns"].

    Example:
        outcome (1, 0), turns ((1, 0, 1), ())  ->  outcome (1.6667, 0)

    Paper: arXiv:2505.08617 (V-ToolRL), the format of every turn beside the answer.
    Differs: nothing.
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["average"]
        if part.turns is None:
            return part
        value = part.outcome + np.array([turn.mean() if turn.size else 0.0 for turn in part.turns])
        return replace(part, outcome=value, turns=None, turn_channels={**part.turn_channels, "turns": part.turns})

    return Combined({"average": reward}, merge, keep_apart=False)
