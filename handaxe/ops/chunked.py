"""Log-probability, entropy and collision probability from hidden states, one slice of the vocabulary at a time.

No tensor of tokens times vocabulary exists at any time, in either pass: the forward pass keeps only running sums of a
slice's logits, and the backward pass recomputes each slice.

Shapes: M tokens, D width, V vocabulary, C vocabulary of a slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from handaxe.ops.logprob import softmax_temperature

__all__ = ["ENTRIES", "chunked_measures"]

ENTRIES = 2**20
"""Most logits in memory at a time: 4 MiB in float32."""
NARROWEST = 1024
"""Smallest vocabulary slice; if more tokens than fit with it are given, the tokens are split, too."""
NAMES = ("logp", "entropy", "collision")


def chunked_measures(
    hidden_MD: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    ids_M: Tensor,
    temperature_M: Tensor,
    *,
    names: Sequence[str] = ("logp",),
    entries: int = ENTRIES,
) -> dict[str, Tensor]:
    """Measure tokens with logits hidden @ weight.T + bias; `ops.logprob` defines the measures.

        z = (h @ W.T + b) / temperature     over slices C of the vocabulary, with the running maximum m:
        s = sum_v exp(z_v - m)      u = sum_v exp(z_v - m) (z_v - m)      c = sum_v exp(z_v - m) ** 2
        logp = z[id] - m - log s        entropy = log s - u / s        collision = c / s ** 2

    Args:
        hidden_MD: the state before each token.
        weight_VD, bias_V: of the output layer; a weight tied to the embedding is allowed.
        ids_M, temperature_M: as in `ops.logprob.token_logp`.
        names: any of "logp", "entropy", "collision".
        entries: most logits in memory at a time; at least one token times NARROWEST of the vocabulary.

    Returns:
        [M] for each name, with gradient (first order only) with respect to hidden states, weight and bias.
    """
    names = [name for name in NAMES if name in names]
    values = _Chunked.apply(hidden_MD, weight_VD, bias_V, ids_M, temperature_M, tuple(names), entries)
    return dict(zip(names, values, strict=True))


class _Sums(NamedTuple):
    """Running sums of `chunked_measures` over the slices so far, and z of the token."""

    m: Tensor
    s: Tensor
    u: Tensor
    c: Tensor
    own: Tensor


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_MD: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        ids_M: Tensor,
        temperature_M: Tensor,
        names: tuple[str, ...],
        entries: int,
    ) -> tuple[Tensor, ...]:
        dtype = torch.promote_types(hidden_MD.dtype, torch.float32)
        over_M = softmax_temperature(temperature_M, dtype)
        logp, entropy, collision, top, log_sum = (hidden_MD.new_empty(len(ids_M), dtype=dtype) for _ in range(5))
        for rows in _rows(len(ids_M), len(weight_VD), entries):
            sums = None
            for piece in _pieces(rows, len(weight_VD), entries):
                z_MC = _scaled(hidden_MD[rows], weight_VD, bias_V, over_M[rows], piece)
                sums = _add(sums, z_MC, ids_M[rows], piece, names)
            assert sums is not None
            # The maximum is subtracted first: added to it, the logarithm of the sum loses its last digits.
            top[rows], log_sum[rows] = sums.m, sums.s.log()
            logp[rows] = sums.own - sums.m - log_sum[rows]
            entropy[rows] = log_sum[rows] - sums.u / sums.s
            collision[rows] = sums.c / sums.s**2
        ctx.save_for_backward(hidden_MD, weight_VD, bias_V, ids_M, over_M, top, log_sum, entropy, collision)
        ctx.names, ctx.entries = names, entries
        found = dict(zip(NAMES, (logp, entropy, collision)))
        return tuple(found[name] for name in names)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        hidden_MD, weight_VD, bias_V, ids_M, over_M, top, log_sum, entropy, collision = ctx.saved_tensors
        given = dict(zip(ctx.names, grads))
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        d_hidden_MD = torch.zeros_like(hidden_MD) if wants_hidden else None
        d_weight_VD = torch.zeros_like(weight_VD) if wants_weight else None
        d_bias_V = torch.zeros_like(bias_V) if bias_V is not None and wants_bias else None
        for rows in _rows(len(ids_M), len(weight_VD), ctx.entries):
            h_MD = hidden_MD[rows]
            part = {name: grad[rows, None] for name, grad in given.items()}
            for piece in _pieces(rows, len(weight_VD), ctx.entries):
                z_MC = _scaled(h_MD, weight_VD, bias_V, over_M[rows], piece)
                z_MC.sub_(top[rows, None]).sub_(log_sum[rows, None])
                dz_MC = _slope(z_MC, part, entropy[rows, None], collision[rows, None])
                if "logp" in part:
                    here, place_M1 = _own(ids_M[rows], piece)
                    dz_MC.scatter_add_(1, place_M1, torch.where(here[:, None], part["logp"], 0.0))
                dz_MC = dz_MC.div_(over_M[rows, None]).to(h_MD.dtype)
                if d_hidden_MD is not None:
                    d_hidden_MD[rows].addmm_(dz_MC, weight_VD[piece])
                if d_weight_VD is not None:
                    d_weight_VD[piece].addmm_(dz_MC.T, h_MD)
                if d_bias_V is not None:
                    d_bias_V[piece] += dz_MC.sum(0)
        return d_hidden_MD, d_weight_VD, d_bias_V, None, None, None, None


def _rows(tokens: int, vocabulary: int, entries: int) -> Iterator[slice]:
    """Split the tokens into parts of about equal size that leave room for a slice of at least NARROWEST."""
    most = max(1, entries // min(NARROWEST, vocabulary))
    size = -(-tokens // max(1, -(-tokens // most)))
    return (slice(start, min(start + size, tokens)) for start in range(0, tokens, max(size, 1)))


def _pieces(rows: slice, vocabulary: int, entries: int) -> Iterator[slice]:
    size = max(1, entries // (rows.stop - rows.start))
    return (slice(start, min(start + size, vocabulary)) for start in range(0, vocabulary, size))


def _scaled(h_MD: Tensor, weight_VD: Tensor, bias_V: Tensor | None, over_M: Tensor, piece: slice) -> Tensor:
    z_MC = torch.nn.functional.linear(h_MD, weight_VD[piece], None if bias_V is None else bias_V[piece])
    return z_MC.to(over_M.dtype).div_(over_M[:, None])


def _own(ids_M: Tensor, piece: slice) -> tuple[Tensor, Tensor]:
    """Find the tokens with ids in the slice, and their columns [M, 1]; 0 for the others."""
    here_M = (ids_M >= piece.start) & (ids_M < piece.stop)
    return here_M, torch.where(here_M, ids_M - piece.start, 0)[:, None]


def _add(sums: _Sums | None, z_MC: Tensor, ids_M: Tensor, piece: slice, names: tuple[str, ...]) -> _Sums:
    here_M, place_M1 = _own(ids_M, piece)
    own = torch.where(here_M, z_MC.gather(1, place_M1)[:, 0], 0.0)
    m = z_MC.amax(1) if sums is None else torch.maximum(sums.m, z_MC.amax(1))
    m = m.clamp(min=torch.finfo(m.dtype).min)  # a slice of impossible tokens
    z_MC.sub_(m[:, None])
    e_MC = z_MC.exp()
    s = e_MC.sum(1)
    u = torch.zeros_like(m)
    c = torch.zeros_like(m)
    if "entropy" in names:
        u = z_MC.clamp_(min=torch.finfo(m.dtype).min).mul_(e_MC).sum(1)  # 0 * -inf is NaN
    if "collision" in names:
        c = e_MC.square_().sum(1)
    if sums is None:
        return _Sums(m, s, u, c, own)
    shift = sums.m - m
    r = shift.exp()
    return _Sums(m, s + sums.s * r, u + r * (sums.u + sums.s * shift), c + sums.c * r**2, own + sums.own)


def _slope(z_MC: Tensor, given: dict[str, Tensor], entropy_M1: Tensor, collision_M1: Tensor) -> Tensor:
    """Compute the gradient by z through everything except the token's own z; `z_MC` are log-probs and are
    overwritten."""
    p_MC = z_MC.exp()
    if set(given) == {"logp"}:
        return p_MC.mul_(-given["logp"])
    dz_MC = torch.zeros_like(p_MC)
    if "logp" in given:
        dz_MC -= given["logp"]
    if "entropy" in given:
        dz_MC -= given["entropy"] * (z_MC.clamp_(min=torch.finfo(p_MC.dtype).min / 2) + entropy_M1)
    if "collision" in given:
        dz_MC += 2 * given["collision"] * (p_MC - collision_M1)
    return dz_MC.mul_(p_MC)
