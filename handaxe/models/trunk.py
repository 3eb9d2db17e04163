"""Forward passes of a transformers model: hidden states of padded rows and of token trees, and logits.

Shapes: B rows, T tokens, N tokens of trees, D width, V vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from handaxe.core.images import Image
from handaxe.models.layer_override import checkpoint_layers, override_layers
from handaxe.models.llama_decoder import LlamaDecoder, find_llama_decoder
from handaxe.ops.token_trees import Pack, build_forest, make_pack
from handaxe.ops.tree_attention import tree_attention

__all__ = ["ROUNDING", "Trunk", "to_float32"]

ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 0.05, torch.float16: 0.01}
"""Allowed difference between two exact computations of a hidden state, relative to the largest entry.

Many models normalize in float32 for weights of each dtype.
"""


class Trunk:
    """Forward passes for measuring and training; `HuggingFaceModel` adds a tokenizer and a KV cache.

    Args:
        module: a causal language model of transformers, or a peft model around one.

    Attributes:
        checkpointing: recompute the activations of the layers in the backward pass (gradient checkpointing).
    """

    def __init__(self, module: Any):
        self.module = module
        self.checkpointing = False
        self._trees: bool | None = None
        self._direct: bool | None = None
        self._linear: bool | None = None

    def hidden(self, ids_BT: Tensor, attend_BT: Tensor, images: Sequence[Image] = ()) -> Tensor:
        """Compute the last hidden states [B, T, D] of right-padded ids.

        `attend_BT` is not used: causal attention excludes padding on the right. A model without vision has no images.
        """
        del attend_BT, images
        position_BT = torch.arange(ids_BT.shape[1], device=ids_BT.device).expand(ids_BT.shape)
        return self._trunk(ids_BT, self._options(position_BT))

    def head(self, hidden: Tensor) -> Tensor:
        """Compute logits [..., V] from hidden states [..., D], including scaling or capping by the model."""
        linear = self.linear_head()
        return to_float32(self._own_head(hidden) if linear is None else F.linear(hidden, *linear))

    def linear_head(self) -> tuple[Tensor, Tensor | None] | None:
        """Return weight [V, D] and bias of a linear head; None if the head caps or scales logits, or has an adapter.

        A comparison on large random hidden states decides, once per model.
        """
        layer = self._base().get_output_embeddings()
        if type(layer) is not nn.Linear:
            return None
        if self._linear is None:
            generator = torch.Generator().manual_seed(0)
            probe = torch.randn(1, layer.in_features, generator=generator).to(layer.weight)
            with torch.no_grad():
                expected = F.linear(probe, layer.weight, layer.bias)
                probe = probe * (100 / expected.abs().max().clamp(min=1e-3))
                expected = F.linear(probe, layer.weight, layer.bias)
                self._linear = torch.allclose(self._own_head(probe), expected, rtol=1e-4, atol=1e-4)
        return (layer.weight, layer.bias) if self._linear else None

    def input_table(self) -> Tensor:
        """Return the input embeddings [V, D], without an adapter."""
        return self._base().get_input_embeddings().weight

    def reads_trees(self) -> bool:
        """Check support of token trees: explicit positions, a mask for each pair of tokens, and no sliding window.

        A comparison of rows and a small tree decides, once per model.
        """
        if self._trees is None:
            full = _has_full_attention(self._base().config)
            self._trees = full and (self.decoder() is not None or self._probe(self._hidden_masked))
        return self._trees

    def decoder(self) -> LlamaDecoder | None:
        """Return the decoder layers for direct calls; None for unsupported layers or differing results.

        A comparison of rows and a small tree decides, once per model.
        """
        decoder = find_llama_decoder(self._base())
        if decoder is not None and self._direct is None:
            self._direct = self._probe(partial(_hidden_blocks, decoder, checkpointing=False))
        return decoder if self._direct else None

    def hidden_tree(self, pack: Pack) -> Tensor:
        """Compute the last hidden states [N, D] of the tokens of trees."""
        decoder = self.decoder()
        # In half precision, torch's attention accumulates in float32; tree_attention does not.
        if decoder is not None and self.module.dtype in (torch.float32, torch.float64):
            return _hidden_blocks(decoder, pack, checkpointing=self.checkpointing)
        return self._hidden_masked(pack)

    def _hidden_masked(self, pack: Pack) -> Tensor:
        options = self._options(pack.depth_N[None])
        dtype = self.module.get_input_embeddings().weight.dtype
        attend_11NN = torch.zeros(1, 1, len(pack), len(pack), dtype=dtype, device=pack.ids_N.device)
        attend_11NN.masked_fill_(~pack.attend_NN, torch.finfo(dtype).min)
        return self._trunk(pack.ids_N[None], {**options, "attention_mask": attend_11NN})[0]

    def hidden_cached(self, ids_BT: Tensor, position_BT: Tensor, attend_B1TU: Tensor, cache: Any) -> Tensor:
        """Compute the last hidden states [B, T, D] of tokens that attend to U positions of a transformers KV cache."""
        options = {**self._options(position_BT), "attention_mask": attend_B1TU, self.cache_name(): cache}
        return self._trunk(ids_BT, options)

    def cache_name(self) -> str:
        """Return the name of the KV cache in arguments and outputs: "cache" since transformers 5.24."""
        accepts = "cache" in inspect.signature(self._base().forward).parameters
        return "cache" if accepts else "past_key_values"

    def _trunk(self, ids_BT: Tensor, options: dict[str, Any]) -> Tensor:
        """Run the model without the output layer, and return the input of the output layer."""
        captured: list[Tensor] = []

        def capture(original: Any, hidden_BTD: Tensor) -> Tensor:
            del original
            captured.append(hidden_BTD)
            return hidden_BTD[..., :1]

        layers = self.layers() if self.checkpointing and torch.is_grad_enabled() else []
        with checkpoint_layers(layers), override_layers(self._base().get_output_embeddings(), capture):
            self.module(input_ids=ids_BT, use_cache=False, **options)
        return captured[0]

    def _own_head(self, hidden: Tensor) -> Tensor:
        """Compute logits by the model's code: run one token, and replace the input of the output layer by `hidden`."""
        device = self.module.get_input_embeddings().weight.device
        layer = self._base().get_output_embeddings()
        with override_layers(layer, lambda original, unused: original(hidden)):
            return self.module(input_ids=torch.zeros(1, 1, dtype=torch.int64, device=device), use_cache=False).logits

    def layers(self) -> list[nn.Module]:
        """Return the layers in order; an empty list if transformers cannot checkpoint them."""
        from transformers.modeling_layers import GradientCheckpointingLayer

        return [part for part in self.module.modules() if isinstance(part, GradientCheckpointingLayer)]

    @torch.no_grad()
    def _probe(self, hidden_tree: Callable[[Pack], Tensor]) -> bool:
        """Whether a tree of three rows has the same hidden states as the rows."""
        if "position_ids" not in inspect.signature(self._base().forward).parameters:
            return False
        vocabulary = self.module.get_input_embeddings().num_embeddings
        ids = torch.randint(0, vocabulary, (2, 6), generator=torch.Generator().manual_seed(0)).numpy()
        rows = [ids[0, :5], np.append(ids[0, :3], ids[1, :3]), ids[1]]
        device = self.module.get_input_embeddings().weight.device
        trees = build_forest(rows)
        try:
            tree_ND = hidden_tree(make_pack(trees, range(len(trees.roots_R)), device))
        except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, AttributeError):
            return False
        for row, node_T in zip(rows, trees.node_BT):
            ids_1T = torch.from_numpy(row).to(device)[None]
            expected_TD = self.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool))[0]
            gap = (tree_ND[torch.from_numpy(node_T[: len(row)]).to(device)] - expected_TD).abs().max()
            if not gap <= ROUNDING[expected_TD.dtype] * expected_TD.abs().max():
                return False
        return True

    def _options(self, position_BT: Tensor, *, last_only: bool = False) -> dict[str, Any]:
        """Select the arguments that the model accepts. Models without `position_ids` derive positions from the mask."""
        accepted = inspect.signature(self._base().forward).parameters
        options: dict[str, Any] = {"position_ids": position_BT} if "position_ids" in accepted else {}
        if last_only and "logits_to_keep" in accepted:
            options["logits_to_keep"] = 1
        return options

    def _base(self) -> Any:
        """Return the transformers model without a peft wrapper."""
        return self.module


def _hidden_blocks(decoder: LlamaDecoder, pack: Pack, *, checkpointing: bool) -> Tensor:
    dtype = decoder.dtype
    # torch converts a boolean mask to numbers in each call and keeps them for the gradient, once for each layer.
    spans = [span._replace(sees_QS=_additive_mask(span.sees_QS, dtype)) for span in pack.spans]

    def attend(index: int, q_NHK: Tensor, k_NGK: Tensor, v_NGK: Tensor) -> Tensor:
        del index
        shared = q_NHK.shape[1] // k_NGK.shape[1]
        keys, values = (x.repeat_interleave(shared, 1) if shared > 1 else x for x in (k_NGK, v_NGK))
        out_HNK = tree_attention(q_NHK.transpose(0, 1), keys.transpose(0, 1), values.transpose(0, 1), spans)
        return out_HNK.transpose(0, 1)

    return decoder.hidden(pack.ids_N, pack.depth_N, attend, checkpointing=checkpointing)


def _additive_mask(sees_QS: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(sees_QS.shape, dtype=dtype, device=sees_QS.device).masked_fill_(~sees_QS, -torch.inf)


def _has_full_attention(config: Any) -> bool:
    """Whether each layer attends to all previous tokens, without a sliding window or chunks."""
    config = config.get_text_config()
    layer_types = getattr(config, "layer_types", None)
    if layer_types:
        return all(layer_type == "full_attention" for layer_type in layer_types)
    return not getattr(config, "sliding_window", None) and not getattr(config, "attention_chunk_size", None)


def to_float32(logits: Tensor) -> Tensor:
    """Cast half-precision logits to float32, as a log-softmax over a vocabulary requires."""
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits
