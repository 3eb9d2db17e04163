"""Marks partial credit of a reward: neither nothing nor everything."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["partial"]

ROUNDING = 1e-9


def partial(*, reward: Reward, most: float = 1.0) -> Reward:
    """Give 1 to a rollout with a reward strictly between 0 and the maximum, else 0.

        partial_i = 1 if 0 < R_i < most, else 0

    With weight 0 in `weighted` it is a figure of a run: a graded reward with a mean of 0 here is a binary reward in
    this world.

    Args:
        reward: graded reward without per-turn values.
        most: its maximum, > 0.

    Returns:
        A reward with outcome [G], 0 or 1, and 0 for a rollout without a score of `reward`.

    Raises:
        InputError: most is 0 or less, or per-turn values.

    Example:
        rewards 0, 0.3, 1  ->  0, 1, 0

    Idea: a composition of graded rewards shows whether its grades occur.
    """
    if most <= 0:
        raise InputError(f"most is {most}; give the maximum of the reward, above 0")

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        reward_G = outcome_only(parts["reward"], "reward").outcome
        return Scores(((reward_G > ROUNDING) & (reward_G < most - ROUNDING)).astype(np.float64))

    return Combined({"reward": reward}, merge, keep_channels=False)
