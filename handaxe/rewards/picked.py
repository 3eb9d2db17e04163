"""Makes one channel of a reward its outcome.

Idea: a reward that computes several figures is asked for one of them, without being written twice.
"""

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.combined import Combined

__all__ = ["picked"]


def picked(reward: Reward, channel: str) -> Reward:
    """Take a channel of a reward as the outcome, and its per-turn twin, if it has one, as the turns.

        outcome_i' = channels[channel]_i        turns' = turn_channels[channel], or None

    Returns:
        A reward whose channels are those of the reward it asks.

    Raises:
        InputError: there is no such channel; the message names those that there are.

    Example:
        weighted({"answer": (1, a), "format": (0.2, f)}) with a (1, 0), f (1, 1), picked "format"  ->  outcome (1, 1)
    """

    def merge(_: Group, parts: dict[str, Scores]) -> Scores:
        part = parts["picked"]
        if channel not in part.channels:
            known = ", ".join(sorted(part.channels)) or "none"
            raise InputError(f"the reward has no channel {channel!r}; it has {known}")
        return replace(part, outcome=part.channels[channel], turns=part.turn_channels.get(channel))

    return Combined({"picked": reward}, merge, keep_apart=False)
