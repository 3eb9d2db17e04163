"""Weighted sum of losses.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from collections.abc import Mapping

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss

__all__ = ["summed"]


def summed(*, losses: Mapping[str, tuple[float, Loss]]) -> Loss:
    """Add losses of one batch.

        L = sum over names of weight * L_name

    Args:
        losses: name -> weight and loss.

    Returns:
        A loss with metrics loss and NAME/METRIC for each metric of each loss, not weighted.

    Raises:
        InputError: no losses.

    Example:
        {"pairs": (1.0, bradley_terry()), "ties": (0.5, neutral())} of values 0.4 and 0.8  ->  0.8

    Idea: multi-task training; Themis (arXiv:2310.01045) adds cross-entropy to a preference loss.
    Differs: nothing.
    """
    if not losses:
        raise InputError("summed needs at least one loss")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        found = {name: (weight, one(out, batch)) for name, (weight, one) in losses.items()}
        weight, first = next(iter(found.values()))
        value = weight * first.value
        for weight, one in list(found.values())[1:]:
            value = value + weight * one.value
        metrics = {f"{name}/{key}": number for name, (_, one) in found.items() for key, number in one.metrics.items()}
        return LossOut(value, {"loss": float(value.detach()), **metrics})

    return loss
