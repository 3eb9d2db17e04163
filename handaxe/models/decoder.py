"""The layers of a Llama-like transformers model, one after another, without what transformers does around them at every
call: with a small model that takes longer than the layers' arithmetic.

The model's own modules compute (so an adapter's layers do too); only how they are joined is written here, for the
layers whose code is known. Tokens stand in one line, of whatever rows they are; who attends whom is the caller's.

Shapes: N tokens, D width, H heads, G key-value heads, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

__all__ = ["Attend", "Decoder", "find_decoder"]

_Call = Callable[[Tensor], Tensor]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [N, H, K], keys [N, G, K], values [N, G, K]) -> [N, H, K]. Keys and queries are turned to their
positions; the attention's scale is 1 / sqrt(K)."""

KNOWN = ("llama.modeling_llama.Llama", "mistral.modeling_mistral.Mistral", "qwen2.modeling_qwen2.Qwen2")
KNOWN_LAYERS = frozenset(f"transformers.models.{name}DecoderLayer" for name in KNOWN)


class _Layer(NamedTuple):
    """What computes a layer."""

    norm_1: _Call
    query: _Call
    key: _Call
    value: _Call
    out: _Call
    norm_2: _Call
    gate: _Call
    up: _Call
    act: _Call
    down: _Call


class Decoder:
    """The layers of a model that `find_decoder` found fit, as the model is now: to be made again when it gets other
    modules or parameters. New values in the same parameters are fine.

    Args:
        inner: the model without its output layer.
    """

    def __init__(self, inner: Any):
        self._embed, self._rotary, self._norm = inner.embed_tokens, inner.rotary_emb, _norm(inner.norm)
        self._layers = [_layer(layer) for layer in inner.layers]
        self._width: int = inner.layers[0].self_attn.head_dim

    def hidden(self, ids_N: Tensor, position_N: Tensor, attend: Attend, *, checkpointing: bool = False) -> Tensor:
        """What the output layer reads [N, D] after the tokens.

        Args:
            position_N: of each token in its row.
            attend: called once a layer, in order; twice, with `checkpointing` and a gradient.
            checkpointing: compute the layers again for the gradient instead of keeping what they computed.
        """
        x_ND = self._embed(ids_N)
        cos_1NK, sin_1NK = self._rotary(x_ND, position_ids=position_N[None])
        half = self._width // 2
        turn = (cos_1NK[0, :, None], torch.cat([-sin_1NK[0, :, :half], sin_1NK[0, :, half:]], -1)[:, None])
        for index in range(len(self._layers)):
            if checkpointing and torch.is_grad_enabled():
                x_ND = checkpoint(self._run, index, x_ND, turn, attend, use_reentrant=False, preserve_rng_state=False)
            else:
                x_ND = self._run(index, x_ND, turn, attend)
        return self._norm(x_ND)

    def _run(self, index: int, x_ND: Tensor, turn: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        layer, shape = self._layers[index], (len(x_ND), -1, self._width)
        h_ND = layer.norm_1(x_ND)
        q_NHK, k_NGK = _turned(layer.query(h_ND).view(shape), turn), _turned(layer.key(h_ND).view(shape), turn)
        x_ND = x_ND + layer.out(attend(index, q_NHK, k_NGK, layer.value(h_ND).view(shape)).flatten(1))
        h_ND = layer.norm_2(x_ND)
        return x_ND + layer.down(layer.act(layer.gate(h_ND)) * layer.up(h_ND))


def find_decoder(model: Any) -> Decoder | None:
    """The layers of a causal language model of transformers; None when they are not of a kind that is known."""
    inner = getattr(model, "model", None)
    layers = getattr(inner, "layers", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        return None
    kinds = {f"{type(layer).__module__}.{type(layer).__qualname__}" for layer in layers}
    return Decoder(inner) if kinds <= KNOWN_LAYERS else None


def _layer(layer: Any) -> _Layer:
    attention, feed = layer.self_attn, layer.mlp
    return _Layer(
        norm_1=_norm(layer.input_layernorm),
        query=_linear(attention.q_proj),
        key=_linear(attention.k_proj),
        value=_linear(attention.v_proj),
        out=_linear(attention.o_proj),
        norm_2=_norm(layer.post_attention_layernorm),
        gate=_linear(feed.gate_proj),
        up=_linear(feed.up_proj),
        act=feed.act_fn,
        down=_linear(feed.down_proj),
    )


def _linear(module: Any) -> _Call:
    """An adapter's layers, and whatever else stands for a linear one, are called as they are."""
    return partial(F.linear, weight=module.weight, bias=module.bias) if type(module) is nn.Linear else module


def _norm(module: Any) -> _Call:
    """In float32 torch's own norm is the same; in other types transformers rounds in between."""
    if module.weight.dtype != torch.float32:
        return module  # type: ignore[no-any-return]
    return partial(F.rms_norm, normalized_shape=module.weight.shape, weight=module.weight, eps=module.variance_epsilon)


def _turned(x_NHK: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    return torch.addcmul(x_NHK * turn[0], x_NHK.roll(x_NHK.shape[-1] // 2, -1), turn[1])
