"""Rewards: Group -> Scores. What lifts, what combines, and the mechanisms, one a file.

    from handaxe import rewards

    reward = rewards.weighted({"answer": (1.0, rewards.exact_match()), "format": (0.2, rewards.well_formed())})

The whole reward of a trajectory is its outcome plus the sum of its per-turn rewards, and nothing is in both.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
