"""Rewards the message of each turn, less for each repetition within the rollout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.oni.messages import messages_of
from handaxe.rewards.per_turn import per_turn

__all__ = ["counted_messages", "message_counts"]


def message_counts(messages: Sequence[str]) -> np.ndarray:
    """[N] number of times that each message was seen up to its turn, 1 for the first time.

    Example:
        "a", "b", "a"  ->  1, 1, 2

    Paper: arXiv:2410.23022 (ONI), the count of a message in the episode.
    Differs: nothing.
    """
    seen: Counter[str] = Counter()
    counts = np.zeros(len(messages))
    for n, message in enumerate(messages):
        seen[message] += 1
        counts[n] = seen[message]
    return counts


def counted_messages(*, scores: Callable[[Sequence[str]], np.ndarray], beta: float = 3.0) -> Reward:
    """Reward the message of each turn, divided by a power of its count in the rollout.

        turns_i[n] = r(m_n) / N(m_n)^beta        N counts equal messages of the rollout up to turn n
                   = 0 for a turn without a message

    Args:
        scores: messages [M] -> rewards [M].
        beta: 0 or more; 3 in the paper. 0 pays every repetition in full.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N].

    Raises:
        InputError: beta below 0.

    Example:
        label 1 of a message that is seen for the second time, beta 3  ->  1 / 2^3 = 0.125; with weight 0.4, 0.05

    Paper: arXiv:2410.23022 (ONI), the intrinsic reward with its episodic count.
    Differs: nothing.
    """
    if not 0 <= beta < np.inf:
        raise InputError(f"counted_messages has beta={beta}; give 0 or more")

    def rewards(trajectory: Trajectory) -> np.ndarray:
        messages = messages_of(trajectory)
        paid = np.array([float(bool(one)) for one in messages])
        return paid * np.asarray(scores(messages)) / message_counts(messages) ** beta

    return per_turn(rewards)
