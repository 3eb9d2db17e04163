"""Log-probability, entropy and collision probability of tokens, given the logits that each was drawn from.

Shapes: M tokens, V vocabulary. `ops.chunked` gives the same without keeping the logits.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["divisor", "token_collision", "token_entropy", "token_logp"]


def token_logp(logits_MV: Tensor, ids_M: Tensor, temperature_M: Tensor) -> Tensor:
    """Say how likely each token was, given those before it.

        logp[m] = log softmax(logits[m] / temperature[m])[ids[m]]

    The softmax is computed in float32, or in float64 when the logits are float64.

    Args:
        logits_MV: what the model says before each token.
        ids_M: int64 token ids.
        temperature_M: what the logits are divided by. 0 (greedy) counts as 1: a greedy token was drawn from a point
            mass, which has no gradient, so what is trained is the distribution whose mode was taken.

    Returns:
        [M], with gradient with respect to the logits.

    Example:
        logits ln 3 and 0, token 1  ->  ln(1/4)
    """
    return _log_softmax(logits_MV, temperature_M).gather(-1, ids_M[:, None])[:, 0]


def token_entropy(logits_MV: Tensor, temperature_M: Tensor) -> Tensor:
    """Measure, in nats, how undecided the model was before each token: H = -sum_v p_v log p_v.

    Args:
        logits_MV: what the model says before each token; a logit of -inf has probability 0 and adds nothing.
        temperature_M: as in `token_logp`.

    Returns:
        [M], with gradient.

    Example:
        two tokens with equal logits  ->  ln 2 = 0.6931
    """
    logp_MV = _log_softmax(logits_MV, temperature_M)
    # 0 * -inf would be NaN, in the value and in the gradient.
    finite_MV = torch.where(logp_MV > -torch.inf, logp_MV, 0.0)
    return -(logp_MV.exp() * finite_MV).sum(-1)


def token_collision(logits_MV: Tensor, temperature_M: Tensor) -> Tensor:
    """Give the probability that two draws before each token agree: sum_v p_v ** 2.

    Args:
        logits_MV, temperature_M: as in `token_entropy`.

    Returns:
        [M] in (0, 1], with gradient.

    Example:
        probabilities 3/4 and 1/4  ->  10/16 = 0.625
    """
    return (2 * _log_softmax(logits_MV, temperature_M)).exp().sum(-1)


def divisor(temperature_M: Tensor, dtype: torch.dtype) -> Tensor:
    """What logits are divided by: the temperature, or 1 where it is 0 (greedy)."""
    return torch.where(temperature_M > 0, temperature_M, 1.0).to(dtype)


def _log_softmax(logits_MV: Tensor, temperature_M: Tensor) -> Tensor:
    logits_MV = logits_MV if logits_MV.dtype == torch.float64 else logits_MV.float()
    return (logits_MV / divisor(temperature_M, logits_MV.dtype)[:, None]).log_softmax(-1)
