"""Hinge loss of a reward model on pairs.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.rollout_scores import pair_metrics, pair_scores
from handaxe.losses.parts.token_metrics import floats

__all__ = ["hinge"]


def hinge(*, head: str = "reward", margin: float = 1.0) -> Loss:
    """Score the chosen rollout above the rejected one by a margin, and stop there.

        L = mean over pairs with strength above 0 of max(0, margin - (r_w - r_l))

    Scores, pairs and strengths as in `bradley_terry`.

    Args:
        head: name of the head.
        margin: > 0.

    Returns:
        A loss with the metrics of `bradley_terry`.

    Raises:
        InputError: a margin of 0 or less; the engine has no such head; one side of a pair is missing.

    Example:
        r_w 1, r_l 0.5, margin 1  ->  0.5; r_w 2, r_l 0.5  ->  0

    Idea: the triplet loss of metric learning.
    Differs: nothing.
    """
    if not margin > 0:
        raise InputError(f"margin is {margin}; give more than 0")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        found = pair_scores(out, batch, head)
        strict_P1 = (found.strength_P > 0).to(found.chosen_PK.dtype)[:, None]
        value = (strict_P1 * (margin - found.margin_PK).clamp(min=0)).mean(1).sum() / found.pairs
        return LossOut(value, floats({"loss": value, **pair_metrics(found.margin_PK, strict_P1, found.pairs)}))

    return loss
