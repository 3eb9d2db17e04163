"""Penalty for repeated calls and repeated segments of agents within a rollout."""

from __future__ import annotations

import json
import re
from collections import Counter

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["count_repeats", "repeated_segments"]

SEGMENT = re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL)


def repeated_segments() -> Reward:
    """Give 1 to a rollout with a repeated call or a repeated segment, else 0.

        P_i = 1[two calls of rollout i have one tool and equal arguments, or two segments have equal tags and texts]

    Combine as R_i = correct_i - 0.5 P_i.

    Returns:
        A reward with outcome [G] of 0 and 1. A rollout without calls and segments has 0.

    Example:
        correct, with the search "8038 ally" twice -> 1 - 0.5 * 1 = 0.5

    Paper: arXiv:2508.13167 (Chain-of-Agents), penalty of the released reward for web agents.
    Differs: equal texts count; spaces at both ends of a segment do not.
    """

    def score(trajectory: Trajectory) -> float:
        segments = Counter(
            (tag, text.strip()) for turn in trajectory.turns for tag, text in SEGMENT.findall(turn.parsed.text)
        )
        return float(count_repeats(trajectory) > 0 or any(count > 1 for count in segments.values()))

    return outcome(score)


def count_repeats(trajectory: Trajectory) -> int:
    """Count the calls of a trajectory that an earlier call equals, in tool and arguments.

    Example:
        search a, search b, search a, search a -> 2
    """
    made = [(call.name, json.dumps(dict(call.arguments), sort_keys=True)) for call in trajectory.calls]
    return len(made) - len(set(made))
