"""Adds per-turn rewards to the outcome.

Idea: a mechanism that reads outcomes alone can then use any reward.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.combined import Combined

__all__ = ["turns_to_outcome"]


def turns_to_outcome(reward: Reward, *, reduce: Literal["sum", "mean"] = "sum") -> Reward:
    """Add the sum or the mean of the per-turn rewards to the outcome.

        sum     outcome_i' = outcome_i + sum_n turns_i[n]
        mean    outcome_i' = outcome_i + (1 / N_i) sum_n turns_i[n];  outcome_i for a rollout without a turn

    With "mean", a property of every turn has equal weight in short and long rollouts.

    Args:
        reward: with per-turn values; a reward without them passes unchanged.
        reduce: "sum" or "mean".

    Returns:
        A reward without per-turn values. Channels stay; the values added are turn_channels["turns"].

    Raises:
        InputError: another word for `reduce`.

    Example:
        outcome (1, 0), turns ((0.5, 0.25), ())     sum   ->  outcome (1.75, 0)
        outcome (1, 0), turns ((1, 0, 1), ())       mean  ->  outcome (1.6667, 0)

    Paper: "mean" is arXiv:2505.08617 (V-ToolRL), format reward of every turn beside the answer.
    Differs: nothing.
    """
    if reduce not in ("sum", "mean"):
        raise InputError(f"turns_to_outcome takes reduce sum or mean, not {reduce!r}")

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["reward"]
        if part.turns is None:
            return part
        added = [turn.mean() if reduce == "mean" and turn.size else turn.sum() for turn in part.turns]
        value = part.outcome + np.array(added)
        return replace(part, outcome=value, turns=None, turn_channels={**part.turn_channels, "turns": part.turns})

    return Combined({"reward": reward}, merge, keep_channels=False)
