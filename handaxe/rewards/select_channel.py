"""Promotes a channel of a reward to the outcome.

Idea: a reward with several figures serves for each of them.
"""

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.combined import Combined

__all__ = ["select_channel"]


def select_channel(reward: Reward, channel: str) -> Reward:
    """Use a channel of a reward as the outcome, and the per-turn channel of the same name, if any, as the turns.

        outcome_i' = channels[channel]_i        turns' = turn_channels[channel], or None

    Returns:
        A reward with all channels of the given reward.

    Raises:
        InputError: there is no such channel; the message lists the channels.

    Example:
        weighted({"answer": (1, a), "format": (0.2, f)}) with a (1, 0), f (1, 1), channel "format"  ->  outcome (1, 1)
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["select_channel"]
        if channel not in part.channels:
            known = ", ".join(sorted(part.channels)) or "none"
            raise InputError(f"the reward has no channel {channel!r}; it has {known}")
        return replace(part, outcome=part.channels[channel], turns=part.turn_channels.get(channel))

    return Combined({"select_channel": reward}, merge, keep_channels=False)
