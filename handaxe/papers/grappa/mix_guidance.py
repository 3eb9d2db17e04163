"""Mixture of a policy's action distribution and the scores of a guidance function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["MixForm", "mix_guidance"]

MixForm = Literal["logits", "linear"]


def mix_guidance(
    pi_A: Sequence[float] | np.ndarray, score_A: Sequence[float] | np.ndarray, *, alpha: float, form: MixForm = "logits"
) -> np.ndarray:
    """Mix probabilities of actions with scores of the states behind them.

        logits   p(a) = softmax_a((1 - alpha) log pi(a) + alpha g(a))
        linear   p(a) = (1 - alpha) pi(a) + alpha softmax_a(g(a))

    Args:
        pi_A: probabilities of the base policy, >= 0 with sum 1.
        score_A: g, score of the state after each action, finite.
        alpha: weight of the guidance, 0 to 1; 0 is the base policy, to the bit, and 1 the guidance alone.
        form: see above. In the logits form, an action with pi 0 keeps p 0 if alpha is below 1.

    Returns:
        Probabilities, [A] float64.

    Raises:
        InputError: a weight out of range, another form, no action, lists of other lengths, probabilities that are none,
            or a score that is not finite.

    Example:
        pi 0.6, 0.4 and g log 0.1, log 0.9, alpha 0.5: linear 0.35, 0.65; logits 0.2899, 0.7101

    Paper: arXiv:2410.06473 (GRAPPA), guidance mixed into the base policy's action distribution.
    Unconfirmed: both forms, the weight, and the scale of scores.
    Differs: over a complete list of actions; the paper weighs candidates that it samples.
    """
    base_A, guide_A = np.asarray(pi_A, np.float64), np.asarray(score_A, np.float64)
    if not 0 <= alpha <= 1 or form not in ("logits", "linear"):
        raise InputError(f"a mixture has a weight from 0 to 1 and the form logits or linear, not {alpha} and {form!r}")
    if base_A.ndim != 1 or base_A.shape != guide_A.shape or not len(base_A) or not np.isfinite(guide_A).all():
        raise InputError(f"a mixture has a finite score for each action, not {guide_A} for {base_A}")
    if not (base_A >= 0).all() or not np.isclose(base_A.sum(), 1.0):
        raise InputError(f"a base policy has probabilities with sum 1, not {base_A}")
    if alpha == 0:
        return base_A.copy()
    if form == "linear":
        return (1 - alpha) * base_A + alpha * _softmax(guide_A)
    with np.errstate(divide="ignore"):
        log_A = np.log(base_A) if alpha < 1 else np.zeros_like(base_A)
    return _softmax((1 - alpha) * log_A + alpha * guide_A)


def _softmax(logit_A: np.ndarray) -> np.ndarray:
    weight_A = np.exp(logit_A - logit_A.max())
    found: np.ndarray = weight_A / weight_A.sum()
    return found
