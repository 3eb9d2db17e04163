"""Rewards: Group -> Scores. Here the lifts and the combinators; each mechanism is a file of this folder.

    from handaxe import rewards
    from handaxe.rewards.exact_match import exact_match
    from handaxe.rewards.well_formed import well_formed

    reward = rewards.weighted({"answer": (1.0, exact_match()), "format": (0.2, well_formed())})

The whole reward of a trajectory is its outcome plus the sum of its per-turn rewards, and nothing is in both.
"""

from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.product import product
from handaxe.rewards.total import total
from handaxe.rewards.weighted import weighted

__all__ = ["gate", "outcome", "per_turn", "product", "total", "weighted"]
