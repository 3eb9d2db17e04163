"""The layers of a Llama-like transformers model, one after another, without what transformers does around them at every
call: with a small model that takes longer than the layers' arithmetic.

The model's own modules compute, called as modules (so an adapter's layers and all hooks take part); only how they are
joined is written here, for the layers whose code is known. Tokens stand in one line, of whatever rows they are; who
attends whom is the caller's.

Shapes: N tokens, D width, H heads, G key-value heads, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from handaxe.models.overriding import overriding

__all__ = ["Attend", "Decoder", "find_decoder"]

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [N, H, K], keys [N, G, K], values [N, G, K]) -> [N, H, K]. Keys and queries are turned to their
positions; the attention's scale is 1 / sqrt(K)."""

KNOWN = ("llama.modeling_llama.Llama", "mistral.modeling_mistral.Mistral", "qwen2.modeling_qwen2.Qwen2")
KNOWN_LAYERS = frozenset(f"transformers.models.{name}DecoderLayer" for name in KNOWN)


class Decoder:
    """The layers of a model that `find_decoder` found fit. Each is called as a module, so that its hooks see the call,
    and its weights are looked up only then: a hook may have put them there the moment before.

    Args:
        inner: the model without its output layer.
    """

    def __init__(self, inner: Any):
        self._inner = inner

    def hidden(self, ids_N: Tensor, position_N: Tensor, attend: Attend, *, checkpointing: bool = False) -> Tensor:
        """What the output layer reads [N, D] after the tokens.

        Args:
            position_N: of each token in its row.
            attend: called once a layer, in order; twice, with `checkpointing` and a gradient.
            checkpointing: compute the layers again for the gradient instead of keeping what they computed.
        """
        x_ND = self._inner.embed_tokens(ids_N)
        cos_1NK, sin_1NK = self._inner.rotary_emb(x_ND, position_ids=position_N[None])
        half = cos_1NK.shape[-1] // 2
        turn = (cos_1NK[0, :, None], torch.cat([-sin_1NK[0, :, :half], sin_1NK[0, :, half:]], -1)[:, None])
        for index, layer in enumerate(self._inner.layers):
            call = partial(_call, layer, index, turn, attend)
            if checkpointing and torch.is_grad_enabled():
                x_ND = checkpoint(call, x_ND, use_reentrant=False, preserve_rng_state=False)
            else:
                x_ND = call(x_ND)
        return _normed(self._inner.norm, x_ND)


def _call(layer: nn.Module, index: int, turn: tuple[Tensor, Tensor], attend: Attend, x_ND: Tensor) -> Tensor:
    def run(original: Any, x_ND: Tensor) -> Tensor:
        del original
        return _run(layer, x_ND, turn, partial(attend, index))

    with overriding(layer, run):
        return cast(Tensor, layer(x_ND))


def _run(layer: Any, x_ND: Tensor, turn: tuple[Tensor, Tensor], attend: Callable[..., Tensor]) -> Tensor:
    attention, feed = layer.self_attn, layer.mlp
    shape = (len(x_ND), -1, attention.head_dim)
    h_ND = _normed(layer.input_layernorm, x_ND)
    q_NHK, k_NGK = (_turned(part(h_ND).view(shape), turn) for part in (attention.q_proj, attention.k_proj))
    x_ND = x_ND + attention.o_proj(attend(q_NHK, k_NGK, attention.v_proj(h_ND).view(shape)).flatten(1))
    h_ND = _normed(layer.post_attention_layernorm, x_ND)
    return x_ND + feed.down_proj(feed.act_fn(feed.gate_proj(h_ND)) * feed.up_proj(h_ND))


def find_decoder(model: Any) -> Decoder | None:
    """The layers of a causal language model of transformers; None when they are not of a kind that is known."""
    inner = getattr(model, "model", None)
    layers = getattr(inner, "layers", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        return None
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in map(_own_class, layers)}
    return Decoder(inner) if kinds <= KNOWN_LAYERS else None


def _own_class(layer: nn.Module) -> type:
    """Of a layer that torch has split over several processes, which makes a class of its own around the layer's."""
    return next(kind for kind in type(layer).__mro__ if not kind.__module__.startswith("torch.distributed."))


def _normed(norm: Any, x_ND: Tensor) -> Tensor:
    """In float32 torch's own norm is the same; in other types transformers rounds in between."""
    if norm.weight.dtype != torch.float32:
        return cast(Tensor, norm(x_ND))
    return F.rms_norm(x_ND, norm.weight.shape, norm.weight, norm.variance_epsilon)


def _turned(x_NHK: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    return torch.addcmul(x_NHK * turn[0], x_NHK.roll(x_NHK.shape[-1] // 2, -1), turn[1])
