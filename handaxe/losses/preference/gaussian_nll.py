"""Likelihood of labels under a head that states mean and spread.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.protocols import Loss
from handaxe.losses.parts.labels import labelled_scores
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked

__all__ = ["gaussian_nll"]


def gaussian_nll(*, head: str = "reward", labels: Sequence[str] = ("score",)) -> Loss:
    """Fit mean and spread of each label.

        outputs 2k and 2k + 1: mean m and log standard deviation s of label k
        L = sum over read places and labels of (label - m)^2 / (2 exp(2 s)) + s + ln(2 pi) / 2, / (read places * labels)

    Read places and labels as in `label_regression`.

    Args:
        head: name of the head, with two outputs a label.
        labels: names, in the order of the outputs.

    Returns:
        A loss with metrics loss, spread (mean of exp(s) over known labels, divided by all read places) and known.

    Raises:
        InputError: the engine has no such head or not as many outputs, or the batch lacks a label.

    Example:
        m 1, s 0, label 3: 2 + 0 + 0.91894 = 2.91894; with s = ln 2: 0.5 + 0.69315 + 0.91894 = 2.11209

    Paper: arXiv:2409.15360 (BRME), a head that outputs mean and variance of the reward.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        score_BTK, label_BTK, known_BTK = labelled_scores(out, batch, head, labels, per_label=2)
        mean_BTK, spread_BTK = score_BTK[..., 0::2], score_BTK[..., 1::2]
        count = max(batch.denominators.tokens, 1.0) * len(labels)
        each_BTK = (label_BTK - mean_BTK) ** 2 / (2 * (2 * spread_BTK).exp()) + spread_BTK + log(2 * pi) / 2
        value = masked(each_BTK, known_BTK).sum() / count
        spread = masked(spread_BTK.exp(), known_BTK).sum() / count
        return LossOut(value, floats({"loss": value, "spread": spread, "known": known_BTK.sum() / count}))

    return loss
