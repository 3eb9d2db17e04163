"""Multiplies rewards.

Idea: no component compensates another.
"""

from collections.abc import Mapping

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["product"]


def product(components: Mapping[str, Reward]) -> Reward:
    """Multiply outcomes: a trajectory without a component earns nothing.

        outcome_i = prod_k outcome_k,i

    Args:
        components: name -> reward without per-turn values.

    Raises:
        InputError: no component, or one with per-turn values (their product is not defined).

    Example:
        answer (1, 0), few_calls (0.5, 1)  ->  outcome (0.5, 0)
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        value = np.ones(len(group))
        for name, part in parts.items():
            value = value * outcome_only(part, name).outcome
        return Scores(value)

    return Combined(components, merge)
