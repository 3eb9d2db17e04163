"""Bounds the sum of process rewards, so that further steps earn nothing.

Kept: a remedy for any process reward.
"""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores

__all__ = ["bound_steps", "bounded_steps"]

Form = Literal["raw", "clip", "delta", "clip_delta"]
FORMS = ("raw", "clip", "delta", "clip_delta")


def bounded_steps(*, steps: Reward, form: Form = "clip_delta", threshold: float = 0.5) -> Reward:
    """Change the process rewards rho_1, ..., rho_K of a rollout's turns.

        clip        r_k = min(rho_k - threshold, 0)                                          the sum is at most 0
        delta       r_k = rho_k - rho_{k+1},   r_{K-1} = rho_{K-1}                           the sum is rho_1
        clip_delta  delta of the clipped rewards
        r_K = 0 in all three: the outcome pays the last turn

    With delta the return from turn k on is rho_k, so that each turn is optimized alone.

    Args:
        steps: a reward with turns, such as `judged_steps`.
        form: see above; "raw" leaves the rewards as they are.
        threshold: of clip, in units of the process reward. A turn above it earns 0.

    Returns:
        A reward with the outcome of `steps`, and changed turns.

    Raises:
        InputError: another form, or `steps` gives no turns.

    Example:
        rho 0.9, 0.6, 0.8, 0.7, threshold 0.7: clip 0, -0.1, 0, 0; delta 0.3, -0.2, 0.8, 0; clip_delta 0.1, -0.1, 0, 0

    Paper: arXiv:2410.15115, Clip and Delta.
    Unconfirmed: the formulas, known from a description of the paper's figure and from memory.
    Differs: nothing.
    """
    if form not in FORMS:
        raise InputError(f"form is one of {', '.join(FORMS)}, not {form!r}")

    def reward(group: Group) -> Scores:
        found = steps(group)
        if found.turns is None:
            raise InputError("bounded_steps changes rewards of turns, and this reward gives none: use judged_steps")
        turns = tuple(bound_steps(np.asarray(own, np.float64), form, threshold) for own in found.turns)
        return Scores(found.outcome, turns=turns, channels=found.channels, eligible=found.eligible)

    return reward


def bound_steps(rho_K: np.ndarray, form: Form, threshold: float) -> np.ndarray:
    """Changed rewards [K] of one rollout."""
    if form == "raw" or not len(rho_K):
        return rho_K
    kept_K = rho_K if form == "delta" else np.minimum(rho_K - threshold, 0.0)
    if form != "clip":
        kept_K = np.append(kept_K[:-1], 0.0)
        kept_K = kept_K - np.append(kept_K[1:], 0.0)
    return np.append(kept_K[:-1], 0.0)
