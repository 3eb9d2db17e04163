"""Token sampling: temperature, top-k and top-p per row, with one given uniform number a row.

Shapes: B rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.records import Sampling

__all__ = ["DrawRules", "Drawn", "draw", "draw_rules", "most_likely", "uniforms"]


class DrawRules(NamedTuple):
    """`Sampling` parameters as tensors, one entry a row. A `top_k` of 0 disables top-k. `greedy`: some row has
    temperature 0; `cuts`: some row uses top-k or top-p."""

    temperature_B: Tensor
    top_p_B: Tensor
    top_k_B: Tensor
    greedy: bool
    cuts: bool

    def rows(self, index_B: Tensor | slice) -> DrawRules:
        """Select rows."""
        return self._replace(
            temperature_B=self.temperature_B[index_B], top_p_B=self.top_p_B[index_B], top_k_B=self.top_k_B[index_B]
        )


class Drawn(NamedTuple):
    """Sampled ids and log-probs, [B] each: before top-k and top-p, and under the sampling distribution."""

    ids_B: Tensor
    logp_B: Tensor
    behaviour_logp_B: Tensor


def draw_rules(samplings: Sequence[Sampling], device: torch.device) -> DrawRules:
    """Stack sampling parameters, a row per request."""
    return DrawRules(
        torch.tensor([s.temperature for s in samplings], dtype=torch.float64, device=device),
        torch.tensor([s.top_p for s in samplings], dtype=torch.float64, device=device),
        torch.tensor([s.top_k for s in samplings], dtype=torch.int64, device=device),
        greedy=any(s.temperature == 0 for s in samplings),
        cuts=any(s.temperature > 0 and (s.top_k > 0 or s.top_p < 1) for s in samplings),
    )


def uniforms(seed: int, count: int) -> np.ndarray:
    """[count] float64 uniform numbers in [0, 1), the only randomness of a request.

    The n-th number is equal for every `count` > n: a request with a larger token limit starts with the same tokens.
    """
    return np.random.Generator(np.random.Philox(key=seed)).random(count)


def draw(logits_BV: Tensor, uniform_B: Tensor, rules: DrawRules) -> Drawn:
    """Sample one token a row by inverting the cumulative distribution over token ids at u.

        p = softmax(logits / temperature)                        over the whole vocabulary
        S = the top_k most likely tokens; of those, the fewest most likely whose share of S's mass reaches top_p
        token = the first v in S with  sum_{w <= v, w in S} p_w  >  u * sum_{w in S} p_w
        logp = log p_token           behaviour_logp = log p_token - log sum_{w in S} p_w

    The order by id makes a row's token a function of its logits and u only, independent of the other rows. Of equally
    likely tokens, smaller ids are kept. Temperature 0 takes the most likely token with behaviour_logp 0 (a point mass)
    and logp at temperature 1, as `ops.logprob.token_logp` does.

    Args:
        logits_BV: after the last token of each row.
        uniform_B: float64 in [0, 1).
        rules: temperature >= 0, top_p in (0, 1], top_k >= 0.

    Returns:
        ids_B int64, and two float32 [B] (float64 for float64 logits). Non-finite logits give a logp of NaN.

    Example:
        p = 0.5, 0.3, 0.2; u = 0.6      ->  token 1, logp ln 0.3, behaviour_logp ln 0.3
        the same with top_p = 0.75      ->  S = {0, 1}; 0.6 * 0.8 = 0.48 < 0.5, token 0, behaviour_logp ln 0.5/0.8
    """
    logits_BV = logits_BV if logits_BV.dtype == torch.float64 else logits_BV.float()
    temperature_B, greedy_B = rules.temperature_B, rules.temperature_B == 0
    if rules.greedy:
        temperature_B = torch.where(greedy_B, 1.0, temperature_B)
    logp_BV = (logits_BV / temperature_B.to(logits_BV.dtype)[:, None]).log_softmax(-1)
    p_BV = logp_BV.exp()
    if rules.cuts:
        cut_B = ((rules.top_k_B > 0) | (rules.top_p_B < 1)) & ~greedy_B
        p_BV[cut_B] = _apply_cuts(p_BV[cut_B], rules.rows(cut_B))
    ids_B = _invert_cdf(p_BV, uniform_B)
    if rules.greedy:
        ids_B = torch.where(greedy_B, logp_BV.argmax(-1), ids_B)
    logp_B = behaviour_logp_B = logp_BV.gather(-1, ids_B[:, None])[:, 0]
    if rules.greedy:
        behaviour_logp_B = torch.where(greedy_B, torch.zeros_like(logp_B), logp_B)
    if rules.cuts:
        share_B = (logp_B - p_BV.sum(-1).log()).clamp(max=0)
        behaviour_logp_B = torch.where(cut_B, torch.maximum(share_B, logp_B), behaviour_logp_B)
    return Drawn(ids_B, logp_B, behaviour_logp_B)


def most_likely(logits_NV: Tensor, count: int, *, temperature: float) -> list[list[tuple[int, float]]]:
    """The most likely tokens of each row, (id, log-prob), most likely first.

    Args:
        logits_NV: N rows over the vocabulary.
        count: of tokens a row; at most the vocabulary.
        temperature: as in `draw`; 0 counts as 1.

    Example:
        p = 0.5, 0.3, 0.2; count 2      ->  (0, ln 0.5), (1, ln 0.3)
    """
    logits_NV = logits_NV if logits_NV.dtype == torch.float64 else logits_NV.float()
    logp_NV = (logits_NV / (temperature or 1.0)).log_softmax(-1)
    logp_NK, ids_NK = logp_NV.topk(min(count, logp_NV.shape[-1]))
    return [list(zip(ids, logp)) for ids, logp in zip(ids_NK.tolist(), logp_NK.tolist())]


def _invert_cdf(p_BV: Tensor, uniform_B: Tensor) -> Tensor:
    """Invert the cumulative distribution in float64: the first id with cumulative mass above u times the total.

    A token without mass is never selected, because it does not increase the sum. The target stays below the total, so
    that every row selects a token, except rows of NaN, which have a logp of NaN.
    """
    cumulative_BV = p_BV.cumsum(-1, dtype=torch.float64)
    total_B = cumulative_BV[:, -1]
    target_B = torch.minimum(uniform_B * total_B, torch.nextafter(total_B, torch.zeros_like(total_B)))
    found_B = torch.searchsorted(cumulative_BV, target_B[:, None], right=True)[:, 0]
    return found_B.clamp(max=p_BV.shape[1] - 1)


def _apply_cuts(p_BV: Tensor, rules: DrawRules) -> Tensor:
    """Probabilities, not renormalised, with 0 outside the support S of `draw`."""
    sorted_BV, order_BV = p_BV.sort(dim=-1, descending=True, stable=True)
    rank_V = torch.arange(p_BV.shape[1], device=p_BV.device)
    limit_B = torch.where(rules.top_k_B > 0, rules.top_k_B, p_BV.shape[1])
    top_k_BV = torch.where(rank_V < limit_B[:, None], sorted_BV, 0.0).double()
    before_BV = top_k_BV.cumsum(-1) - top_k_BV
    inside_BV = before_BV < rules.top_p_B[:, None] * top_k_BV.sum(-1, keepdim=True)
    # A rounding error must neither drop a token at top_p = 1, nor the most likely token.
    inside_BV = (inside_BV | (rules.top_p_B >= 1)[:, None]) & (rank_V < limit_B[:, None])
    keep_BV = torch.zeros_like(p_BV, dtype=torch.bool).scatter(-1, order_BV, inside_BV)
    return torch.where(keep_BV, p_BV, 0.0)
