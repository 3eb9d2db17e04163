"""Rewards: Group -> Scores.

    from handaxe import rewards

    reward = rewards.weighted({"answer": (1.0, rewards.exact_match()), "format": (0.2, rewards.well_formed())})

The total reward of a trajectory is its outcome plus the sum of its per-turn rewards; no value is in both.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
