"""What a transformers model says of tokens: hidden states of rows and of trees, and the head that reads them.

Shapes: B rows, T tokens, N tokens of trees, D width, V vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from handaxe.models.decoder import Decoder, find_decoder
from handaxe.models.overriding import overriding, recomputing
from handaxe.ops.tree_attention import tree_attention
from handaxe.ops.trees import Pack, forest, make_pack

__all__ = ["ROUNDING", "Trunk", "wide"]

ROUNDING = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 0.05, torch.float16: 0.01}
"""How far two exact ways to the same hidden state may lie apart, relative to its largest entry. Many models normalise
in float32 whatever their weights are."""


class Trunk:
    """The half of a model that measures and trains; `HuggingFaceModel` adds a tokenizer and a cache.

    Args:
        module: a causal language model of transformers, or a peft model around one.

    Attributes:
        checkpointing: compute the layers again for the gradient instead of keeping what they computed.
    """

    def __init__(self, module: Any):
        self.module = module
        self.checkpointing = False
        self._trees: bool | None = None
        self._direct: bool | None = None
        self._linear: bool | None = None

    def hidden(self, ids_BT: Tensor, attend_BT: Tensor) -> Tensor:
        """Right-padded ids -> what the output layer reads [B, T, D]; `attend_BT` is not needed, since what stands on
        the right is never attended."""
        del attend_BT
        position_BT = torch.arange(ids_BT.shape[1], device=ids_BT.device).expand(ids_BT.shape)
        return self._trunk(ids_BT, self._options(position_BT))

    def head(self, hidden: Tensor) -> Tensor:
        """Logits [..., V] of hidden states [..., D], with whatever the model does to them after its output layer."""
        linear = self.linear_head()
        return wide(self._own_head(hidden) if linear is None else F.linear(hidden, *linear))

    def linear_head(self) -> tuple[Tensor, Tensor | None] | None:
        """Weight [V, D] and bias of the output layer; None for a model that caps or scales its logits, or has an
        adapter on that layer. Found out once, by comparing both on large random hidden states."""
        layer = self._base().get_output_embeddings()
        if type(layer) is not nn.Linear:
            return None
        if self._linear is None:
            draw = torch.Generator().manual_seed(0)
            probe = torch.randn(1, layer.in_features, generator=draw).to(layer.weight)
            with torch.no_grad():
                want = F.linear(probe, layer.weight, layer.bias)
                probe = probe * (100 / want.abs().max().clamp(min=1e-3))
                want = F.linear(probe, layer.weight, layer.bias)
                self._linear = torch.allclose(self._own_head(probe), want, rtol=1e-4, atol=1e-4)
        return (layer.weight, layer.bias) if self._linear else None

    def input_table(self) -> Tensor:
        """What ids are looked up in [V, D], an adapter's changes left out."""
        return self._base().get_input_embeddings().weight

    def reads_trees(self) -> bool:
        """Whether the model takes positions and a mask for every pair of tokens, and no layer sees a window only.
        Found out once, by reading a small tree in both ways."""
        if self._trees is None:
            everything = _attends_everything(self._base().config)
            self._trees = everything and (self.decoder() is not None or self._probe(self._hidden_masked))
        return self._trees

    def decoder(self) -> Decoder | None:
        """The layers, to be called without what transformers does around them; None when that is not known to say the
        same. Found out once, by reading a small tree."""
        found = find_decoder(self._base())
        if found is not None and self._direct is None:
            self._direct = self._probe(partial(_hidden_blocks, found, checkpointing=False))
        return found if self._direct else None

    def hidden_tree(self, pack: Pack) -> Tensor:
        """What the output layer reads [N, D] after the tokens of trees."""
        decoder = self.decoder()
        # With half the precision, torch's own attention adds up in float32; blocks would not.
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
        """What the output layer reads [B, T, D] after tokens that attend to U positions of transformers' cache."""
        options = {**self._options(position_BT), "attention_mask": attend_B1TU, "past_key_values": cache}
        return self._trunk(ids_BT, options)

    def _trunk(self, ids_BT: Tensor, options: dict[str, Any]) -> Tensor:
        """The input of the output layer, which itself is left out."""
        seen: list[Tensor] = []

        def catch(original: Any, hidden_BTD: Tensor) -> Tensor:
            del original
            seen.append(hidden_BTD)
            return hidden_BTD[..., :1]

        layers = self.layers() if self.checkpointing and torch.is_grad_enabled() else []
        with recomputing(layers), overriding(self._base().get_output_embeddings(), catch):
            self.module(input_ids=ids_BT, use_cache=False, **options)
        return seen[0]

    def _own_head(self, hidden: Tensor) -> Tensor:
        """Logits by the model's own code: it reads a token, and its output layer finds `hidden` in that one's place."""
        device = self.module.get_input_embeddings().weight.device
        layer = self._base().get_output_embeddings()
        with overriding(layer, lambda original, unused: original(hidden)):
            return self.module(input_ids=torch.zeros(1, 1, dtype=torch.int64, device=device), use_cache=False).logits

    def layers(self) -> list[nn.Module]:
        """The layers, first to last; none for a model whose layers transformers cannot compute again."""
        from transformers.modeling_layers import GradientCheckpointingLayer

        return [part for part in self.module.modules() if isinstance(part, GradientCheckpointingLayer)]

    @torch.no_grad()
    def _probe(self, read: Callable[[Pack], Tensor]) -> bool:
        if "position_ids" not in inspect.signature(self._base().forward).parameters:
            return False
        vocabulary = self.module.get_input_embeddings().num_embeddings
        ids = torch.randint(0, vocabulary, (2, 6), generator=torch.Generator().manual_seed(0)).numpy()
        rows = [ids[0, :5], np.append(ids[0, :3], ids[1, :3]), ids[1]]
        device = self.module.get_input_embeddings().weight.device
        trees = forest(rows)
        try:
            tree_ND = read(make_pack(trees, range(len(trees.roots_R)), device))
        except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, AttributeError):
            return False
        for row, node_T in zip(rows, trees.node_BT):
            ids_1T = torch.from_numpy(row).to(device)[None]
            want_TD = self.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool))[0]
            gap = (tree_ND[torch.from_numpy(node_T[: len(row)]).to(device)] - want_TD).abs().max()
            if not gap <= ROUNDING[want_TD.dtype] * want_TD.abs().max():
                return False
        return True

    def _options(self, position_BT: Tensor, *, last_only: bool = False) -> dict[str, Any]:
        """Arguments that not every model takes; one without `position_ids` counts its mask instead."""
        takes = inspect.signature(self._base().forward).parameters
        options: dict[str, Any] = {"position_ids": position_BT} if "position_ids" in takes else {}
        if last_only and "logits_to_keep" in takes:
            options["logits_to_keep"] = 1
        return options

    def _base(self) -> Any:
        """The model of transformers, without what may be around it."""
        return self.module


def _hidden_blocks(decoder: Decoder, pack: Pack, *, checkpointing: bool) -> Tensor:
    def attend(index: int, q_NHK: Tensor, k_NGK: Tensor, v_NGK: Tensor) -> Tensor:
        del index
        shared = q_NHK.shape[1] // k_NGK.shape[1]
        keys, values = (x.repeat_interleave(shared, 1) if shared > 1 else x for x in (k_NGK, v_NGK))
        out_HNK = tree_attention(q_NHK.transpose(0, 1), keys.transpose(0, 1), values.transpose(0, 1), pack.spans)
        return out_HNK.transpose(0, 1)

    return decoder.hidden(pack.ids_N, pack.depth_N, attend, checkpointing=checkpointing)


def _attends_everything(config: Any) -> bool:
    """Whether no layer attends a window or a chunk of the past only."""
    config = config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if kinds:
        return all(kind == "full_attention" for kind in kinds)
    return not getattr(config, "sliding_window", None) and not getattr(config, "attention_chunk_size", None)


def wide(logits: Tensor) -> Tensor:
    """Half-precision logits as float32: a log-softmax over a vocabulary needs it."""
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits
