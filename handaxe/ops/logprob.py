"""Log-probability, entropy and collision probability of tokens, given their logits.

Shapes: M tokens, V vocabulary. `ops.chunked` computes the same measures without storing the logits.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["softmax_temperature", "token_collision", "token_entropy", "token_logp"]


def token_logp(logits_MV: Tensor, ids_M: Tensor, temperature_M: Tensor) -> Tensor:
    """Compute the log-probability of each token given the tokens before it.

        logp[m] = log softmax(logits[m] / temperature[m])[ids[m]]

    The softmax is computed in float32, or in float64 for float64 logits.

    Args:
        logits_MV: the model's logits before each token.
        ids_M: int64 token ids.
        temperature_M: divisor of the logits. 0 (greedy) counts as 1: greedy decoding samples from a point mass without
            gradient, so the trained distribution is the one with that mode.

    Returns:
        [M], with gradient with respect to the logits.

    Example:
        logits ln 3 and 0, token 1  ->  ln(1/4)
    """
    return _log_softmax(logits_MV, temperature_M).gather(-1, ids_M[:, None])[:, 0]


def token_entropy(logits_MV: Tensor, temperature_M: Tensor) -> Tensor:
    """Compute the entropy of the distribution before each token, in nats: H = -sum_v p_v log p_v.

    Args:
        logits_MV: the model's logits before each token; a logit of -inf has probability 0 and contributes nothing.
        temperature_M: as in `token_logp`.

    Returns:
        [M], with gradient.

    Example:
        two tokens with equal logits  ->  ln 2 = 0.6931
    """
    logp_MV = _log_softmax(logits_MV, temperature_M)
    # 0 * -inf is NaN, in the value and in the gradient.
    finite_MV = torch.where(logp_MV > -torch.inf, logp_MV, 0.0)
    return -(logp_MV.exp() * finite_MV).sum(-1)


def token_collision(logits_MV: Tensor, temperature_M: Tensor) -> Tensor:
    """Compute the probability that two draws before each token agree: sum_v p_v ** 2.

    Args:
        logits_MV, temperature_M: as in `token_entropy`.

    Returns:
        [M] in (0, 1], with gradient.

    Example:
        probabilities 3/4 and 1/4  ->  10/16 = 0.625
    """
    return (2 * _log_softmax(logits_MV, temperature_M)).exp().sum(-1)


def softmax_temperature(temperature_M: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the divisor of the logits: the temperature, or 1 for temperature 0 (greedy)."""
    return torch.where(temperature_M > 0, temperature_M, 1.0).to(dtype)


def _log_softmax(logits_MV: Tensor, temperature_M: Tensor) -> Tensor:
    logits_MV = logits_MV if logits_MV.dtype == torch.float64 else logits_MV.float()
    return (logits_MV / softmax_temperature(temperature_M, logits_MV.dtype)[:, None]).log_softmax(-1)
