"""Squared error of a head to labels.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.protocols import Loss
from handaxe.losses.parts.labels import labelled_scores
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked

__all__ = ["label_regression"]


def label_regression(*, head: str = "reward", labels: Sequence[str] = ("score",)) -> Loss:
    """Fit each output of a head to a label.

        L = sum over read places and labels of (score - label)^2 / (read places * labels)

    A read place is a trained token. A label is `batch.extras["label/NAME"]`, NaN where unknown; an unknown label adds
    nothing and counts in the denominator, so that micro-batches add up.

    Args:
        head: name of the head, with an output a label.
        labels: names, in the order of the outputs.

    Returns:
        A loss with metrics loss and known (share of known labels).

    Raises:
        InputError: the engine has no such head or not as many outputs, or the batch lacks a label.

    Example:
        scores 1 and 2 for labels 0 and NaN at one place  ->  (1 + 0) / 2 = 0.5

    Paper: arXiv:2410.01257 (HelpSteer2-Preference), regression on attributes.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        score_BTK, label_BTK, known_BTK = labelled_scores(out, batch, head, labels)
        count = max(batch.denominators.tokens, 1.0) * len(labels)
        value = masked((score_BTK - label_BTK) ** 2, known_BTK).sum() / count
        return LossOut(value, floats({"loss": value, "known": known_BTK.sum() / count}))

    return loss
