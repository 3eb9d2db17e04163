"""Cross-entropy of a head with labels of 0 and 1, such as the correctness of steps.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.protocols import Loss
from handaxe.losses.parts.labels import labelled_scores
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked

__all__ = ["label_classification"]


def label_classification(*, head: str = "reward", labels: Sequence[str] = ("correct",)) -> Loss:
    """Fit the probability sigmoid(score) of each label.

        L = sum over read places and labels of softplus(score) - label * score, / (read places * labels)

    A read place is a trained token: the last of an answer for an outcome reward model, the last of every step for a
    process reward model. Labels as in `label_regression`; a label between 0 and 1 is a probability.

    Args:
        head: name of the head, with an output a label.
        labels: names, in the order of the outputs.

    Returns:
        A loss with metrics loss, accuracy (share of known labels on the side of the score; a score of 0 is on neither)
        and known (share of known labels), each over all read places.

    Raises:
        InputError: the engine has no such head or not as many outputs, or the batch lacks a label.

    Example:
        score 1 with label 1: softplus(1) - 1 = 0.31326; with label 0: 1.31326

    Paper: arXiv:2501.01290 (ToolComp): outcome and process reward models by binary labels.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        score_BTK, label_BTK, known_BTK = labelled_scores(out, batch, head, labels)
        count = max(batch.denominators.tokens, 1.0) * len(labels)
        each_BTK = torch.nn.functional.softplus(score_BTK) - label_BTK * score_BTK
        value = masked(each_BTK, known_BTK).sum() / count
        right_BTK = ((score_BTK > 0) & (label_BTK > 0.5)) | ((score_BTK < 0) & (label_BTK < 0.5))
        metrics = {"accuracy": (right_BTK & known_BTK).sum() / count, "known": known_BTK.sum() / count}
        return LossOut(value, floats({"loss": value, **metrics}))

    return loss
