"""Log-probability, entropy and collision probability of the tokens of a row, aligned with the tokens.

Shapes: B rows, T tokens, V vocabulary. Logits at position t predict token t + 1; everything returned here is shifted,
so that column t speaks of token t and column 0, which nothing predicts, is 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["token_collision", "token_entropy", "token_logp"]


def token_logp(logits_BTV: Tensor, ids_BT: Tensor, temperature_B: Tensor, attend_BT: Tensor | None = None) -> Tensor:
    """Say how likely each token was, given those before it.

        logp[b, t] = log softmax(logits[b, t - 1] / temperature[b])[ids[b, t]]      for t >= 1
        logp[b, 0] = 0                                                              and 0 on padding

    The softmax is computed in float32, or in float64 when the logits are float64.

    Args:
        logits_BTV: what the model says after each token; anything, NaN included, on padding.
        ids_BT: int64 token ids; anything on padding, even ids outside the vocabulary.
        temperature_B: what the row's logits are divided by. 0 (greedy) counts as 1: a greedy row was drawn from a point
            mass, which has no gradient, so what is trained is the distribution whose mode was taken.
        attend_BT: bool, False on padding; None when no column is padding.

    Returns:
        [B, T], with gradient with respect to the logits; exactly 0, and without gradient, on padding.

    Example:
        logits [[0, 0], [ln 3, 0]] after tokens 0 and 1, ids [0, 1]  ->  logp [0, ln(1/2)]: the second row of logits
        would predict a third token.
    """
    logp_BUV, valid_BU = _next_logp(logits_BTV, temperature_B, attend_BT)
    targets_BU = torch.where(valid_BU, ids_BT[:, 1:], 0)
    return _align(logp_BUV.gather(-1, targets_BU.unsqueeze(-1)).squeeze(-1), valid_BU)


def token_entropy(logits_BTV: Tensor, temperature_B: Tensor, attend_BT: Tensor | None = None) -> Tensor:
    """Measure, in nats, how undecided the model was before each token: H = -sum_v p_v log p_v.

    Args:
        logits_BTV: what the model says after each token; a logit of -inf has probability 0 and adds nothing.
        temperature_B: as in `token_logp`.
        attend_BT: as in `token_logp`.

    Returns:
        [B, T], with gradient; column t is of the distribution that token t was drawn from, column 0 and padding are 0.

    Example:
        two tokens with equal logits  ->  ln 2 = 0.6931
    """
    logp_BUV, valid_BU = _next_logp(logits_BTV, temperature_B, attend_BT)
    # 0 * -inf would be NaN, in the value and in the gradient.
    finite_BUV = torch.where(logp_BUV > -torch.inf, logp_BUV, 0.0)
    return _align(-(logp_BUV.exp() * finite_BUV).sum(-1), valid_BU)


def token_collision(logits_BTV: Tensor, temperature_B: Tensor, attend_BT: Tensor | None = None) -> Tensor:
    """Give the probability that two draws before each token agree: sum_v p_v ** 2.

    Args:
        logits_BTV, temperature_B, attend_BT: as in `token_entropy`.

    Returns:
        [B, T] in (0, 1], with gradient; column 0 and padding are 0.

    Example:
        probabilities 3/4 and 1/4  ->  10/16 = 0.625
    """
    logp_BUV, valid_BU = _next_logp(logits_BTV, temperature_B, attend_BT)
    return _align((2 * logp_BUV).exp().sum(-1), valid_BU)


def _next_logp(logits_BTV: Tensor, temperature_B: Tensor, attend_BT: Tensor | None) -> tuple[Tensor, Tensor]:
    """Log-probs [B, T - 1, V] of the distributions that tokens 1.. were drawn from, and which of those are tokens.

    Logits are replaced before any arithmetic where no token follows, so that NaN there reaches neither the value nor
    the gradient.
    """
    logits_BUV = logits_BTV[:, :-1]
    logits_BUV = logits_BUV if logits_BUV.dtype == torch.float64 else logits_BUV.float()
    if attend_BT is None:
        valid_BU = torch.ones(logits_BUV.shape[:2], dtype=torch.bool, device=logits_BUV.device)
    else:
        valid_BU = attend_BT[:, 1:]
        logits_BUV = torch.where(valid_BU.unsqueeze(-1), logits_BUV, 0.0)
    divisor_B = torch.where(temperature_B > 0, temperature_B, 1.0).to(logits_BUV.dtype)
    return (logits_BUV / divisor_B[:, None, None]).log_softmax(-1), valid_BU


def _align(value_BU: Tensor, valid_BU: Tensor) -> Tensor:
    """Column t for token t: a column of zeros in front, zeros on padding."""
    return torch.nn.functional.pad(torch.where(valid_BU, value_BU, 0.0), (1, 0))
