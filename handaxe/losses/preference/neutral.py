"""Loss of ties: two rollouts of equal quality should score alike.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.rollout_scores import pair_scores
from handaxe.losses.parts.token_metrics import floats

__all__ = ["neutral"]


def neutral(*, head: str = "reward", weight: float = 1.0) -> Loss:
    """Pull the scores of ties together, and leave other pairs alone.

        L = weight * mean over pairs of (softplus(-D) + softplus(D)) / 2 for strength 0, 0 for others

    The cross-entropy of an even preference; its minimum ln 2 is at D = 0. Use it beside `bradley_terry`
    (`losses.preference.summed`).

    Args:
        head: name of the head.
        weight: >= 0.

    Returns:
        A loss with metrics loss and gap (mean |D| of ties, summed over pairs of the step and divided by their number).

    Raises:
        InputError: a negative weight; the engine has no such head; one side of a pair is missing.

    Example:
        a tie of scores 1 and 0: (0.31326 + 1.31326) / 2 = 0.81326

    Paper: arXiv:2506.16507 (Crome), neutral augmentations.
    Differs: nothing.
    """
    if weight < 0:
        raise InputError(f"weight is {weight}; give 0 or more")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        found = pair_scores(out, batch, head)
        tie_P1 = (found.strength_P == 0).to(found.chosen_PK.dtype)[:, None]
        margin_PK = found.margin_PK
        both_PK = torch.nn.functional.softplus(-margin_PK) + torch.nn.functional.softplus(margin_PK)
        value = weight * (tie_P1 * both_PK / 2).mean(1).sum() / found.pairs
        gap = (tie_P1 * margin_PK.abs()).mean(1).sum() / found.pairs
        return LossOut(value, floats({"loss": value, "gap": gap}))

    return loss
