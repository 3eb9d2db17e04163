"""Bradley-Terry loss of a reward model on pairs.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from typing import Literal

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.rollout_scores import pair_metrics, pair_scores
from handaxe.losses.parts.token_metrics import floats

__all__ = ["bradley_terry"]


def bradley_terry(
    *, head: str = "reward", margin: float | Literal["strength"] = 0.0, scaled: bool = False, centre: float = 0.0
) -> Loss:
    """Score the chosen rollout of each pair above the rejected one.

        D = r_w - r_l,   w = strength if `scaled`, else 1
        L = mean over pairs with strength above 0 of w softplus(-(D - margin)) + centre (r_w + r_l)^2

    r is the mean of the head's scores over a rollout's trained tokens; train the one token where the score is read.
    Pairs are laid out as in `losses.dpo`; `batch.extras["strength"]` has the strength of a pair, and without it every
    strength is 1. Ties (strength 0) count in the denominator and add nothing. Several outputs are averaged.

    Args:
        head: name of the head.
        margin: distance that D has to exceed, or "strength" for each pair's own.
        scaled: weight a pair by its strength.
        centre: weight of the square that keeps scores around 0.

    Returns:
        A loss with metrics loss, accuracy (share of pairs with D > 0), margin (mean D) and ties (share).

    Raises:
        InputError: a negative number or another word; the engine has no such head; one side of a pair is missing.

    Example:
        r_w 1, r_l 0.5  ->  softplus(-0.5) = 0.47408; with strength 2 scaled 0.94815, as margin softplus(1.5) = 1.70141

    Paper: arXiv:2410.01257 (HelpSteer2-Preference): plain, with margin, scaled.
    Differs: nothing.
    """
    if (margin != "strength" and not isinstance(margin, (int, float))) or (margin != "strength" and margin < 0):
        raise InputError(f"margin is a number from 0 or 'strength', not {margin!r}")
    if centre < 0:
        raise InputError(f"centre is {centre}; give 0 or more")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        found = pair_scores(out, batch, head)
        strict_P1 = (found.strength_P > 0).to(found.chosen_PK.dtype)[:, None]
        needed_P1 = found.strength_P[:, None] if margin == "strength" else float(margin)
        weight_P1 = found.strength_P[:, None] if scaled else strict_P1
        each_PK = weight_P1 * torch.nn.functional.softplus(needed_P1 - found.margin_PK)
        square_PK = (found.chosen_PK + found.rejected_PK) ** 2
        each_PK = strict_P1 * (each_PK + centre * square_PK)
        value = each_PK.mean(1).sum() / found.pairs
        return LossOut(value, floats({"loss": value, **pair_metrics(found.margin_PK, strict_P1, found.pairs)}))

    return loss
