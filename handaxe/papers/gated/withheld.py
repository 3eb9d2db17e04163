"""Share of rollouts whose step rewards a gate withholds."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores

__all__ = ["withheld"]


def withheld(*, outcome: Reward, steps: Reward, gate: float) -> Reward:
    """Score 1 for a rollout with step rewards and an outcome at or below the gate, else 0.

        R_i = [outcome_i <= gate][steps_i != 0]

    Args:
        outcome: reward that the gate reads.
        steps: reward that counts above the gate.
        gate: g.

    Returns:
        A reward with outcome [G].

    Example:
        outcomes -1, 0.5, 0 and steps 4, 4, 0 with gate 0  ->  1, 0, 0

    Paper: arXiv:2508.10548 (G-RA), the closed gate; the share is not in the paper.
    Differs: nothing.
    """

    def reward(group: Group) -> Scores:
        closed_G = (outcome(group).outcome <= gate) & (steps(group).outcome != 0)
        return Scores(closed_G.astype(np.float64))

    return reward
