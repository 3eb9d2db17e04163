"""Decoder layers of Llama-like transformers models, called without the per-call overhead of transformers.

In a small model this overhead exceeds the arithmetic of the layers. The forward here repeats the code of the supported
layer classes, but calls the model's own modules, so adapters and hooks stay active. Tokens of all rows form one
sequence; the caller defines the attention between them.

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

from handaxe.models.layer_override import override_layers

__all__ = ["Attend", "LlamaDecoder", "find_llama_decoder"]

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [N, H, K], keys [N, G, K], values [N, G, K]) -> [N, H, K]. Queries and keys have rotary position
embeddings; the scale of the attention is 1 / sqrt(K)."""

FAMILIES = ("llama.modeling_llama.Llama", "mistral.modeling_mistral.Mistral", "qwen2.modeling_qwen2.Qwen2")
LAYER_CLASSES = frozenset(f"transformers.models.{name}DecoderLayer" for name in FAMILIES)


class LlamaDecoder:
    """Decoder layers of a model that `find_llama_decoder` accepts.

    Each layer is called as a module and its weights are read inside the call, because a hook (FSDP) may load them
    right before.

    Args:
        inner: the model without the output layer.
    """

    def __init__(self, inner: Any):
        self._inner = inner

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the hidden states."""
        return cast(torch.dtype, self._inner.embed_tokens.weight.dtype)

    def hidden(self, ids_N: Tensor, position_N: Tensor, attend: Attend, *, checkpointing: bool = False) -> Tensor:
        """Compute the last hidden states [N, D] of the tokens.

        Args:
            position_N: position of each token in its row.
            attend: called once per layer, in order; twice with `checkpointing` and a gradient.
            checkpointing: recompute the activations of the layers in the backward pass (gradient checkpointing).
        """
        x_ND = self._inner.embed_tokens(ids_N)
        cos_1NK, sin_1NK = self._inner.rotary_emb(x_ND, position_ids=position_N[None])
        half = cos_1NK.shape[-1] // 2
        rotation = (cos_1NK[0, :, None], torch.cat([-sin_1NK[0, :, :half], sin_1NK[0, :, half:]], -1)[:, None])
        for index, layer in enumerate(self._inner.layers):
            call = partial(_call_layer, layer, index, rotation, attend)
            if checkpointing and torch.is_grad_enabled():
                x_ND = checkpoint(call, x_ND, use_reentrant=False, preserve_rng_state=False)
            else:
                x_ND = call(x_ND)
        return _rms_norm(self._inner.norm, x_ND)


def _call_layer(layer: nn.Module, index: int, rotation: tuple[Tensor, Tensor], attend: Attend, x_ND: Tensor) -> Tensor:
    def run(original: Any, x_ND: Tensor) -> Tensor:
        del original
        return _layer_forward(layer, x_ND, rotation, partial(attend, index))

    with override_layers(layer, run):
        return cast(Tensor, layer(x_ND))


def _layer_forward(layer: Any, x_ND: Tensor, rotation: tuple[Tensor, Tensor], attend: Callable[..., Tensor]) -> Tensor:
    attention, mlp = layer.self_attn, layer.mlp
    shape = (len(x_ND), -1, attention.head_dim)
    h_ND = _rms_norm(layer.input_layernorm, x_ND)
    q_NHK, k_NGK = (_rotate(project(h_ND).view(shape), rotation) for project in (attention.q_proj, attention.k_proj))
    x_ND = x_ND + attention.o_proj(attend(q_NHK, k_NGK, attention.v_proj(h_ND).view(shape)).flatten(1))
    h_ND = _rms_norm(layer.post_attention_layernorm, x_ND)
    return x_ND + mlp.down_proj(mlp.act_fn(mlp.gate_proj(h_ND)) * mlp.up_proj(h_ND))


def find_llama_decoder(model: Any) -> LlamaDecoder | None:
    """Return the decoder layers of a transformers causal language model; None for unsupported layer classes."""
    inner = getattr(model, "model", None)
    layers = getattr(inner, "layers", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        return None
    names = {f"{layer_class.__module__}.{layer_class.__qualname__}" for layer_class in map(_layer_class, layers)}
    return LlamaDecoder(inner) if names <= LAYER_CLASSES else None


def _layer_class(layer: nn.Module) -> type:
    """Return the class of a layer, without the subclass that torch adds to a sharded layer."""
    return next(base for base in type(layer).__mro__ if not base.__module__.startswith("torch.distributed."))


def _rms_norm(norm: Any, x_ND: Tensor) -> Tensor:
    """Apply an RMS norm, in float32 by torch's kernel. Other dtypes need the intermediate rounding of transformers."""
    if norm.weight.dtype != torch.float32:
        return cast(Tensor, norm(x_ND))
    return F.rms_norm(x_ND, norm.weight.shape, norm.weight, norm.variance_epsilon)


def _rotate(x_NHK: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    return torch.addcmul(x_NHK * rotation[0], x_NHK.roll(x_NHK.shape[-1] // 2, -1), rotation[1])
