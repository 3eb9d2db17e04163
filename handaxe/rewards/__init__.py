"""Rewards: Group -> Scores. Here the lifts and the combinators; each mechanism is a file of this folder.

    from handaxe import rewards

    reward = rewards.weighted({"answer": (1.0, rewards.exact_match()), "format": (0.2, rewards.well_formed())})

The whole reward of a trajectory is its outcome plus the sum of its per-turn rewards, and nothing is in both.
"""

from handaxe.rewards.combine import gate, product, shuffled, total, weighted
from handaxe.rewards.lift import outcome, per_turn
from handaxe.rooms import open_room

__all__ = ["gate", "outcome", "per_turn", "product", "shuffled", "total", "weighted"]

open_room(__name__)
