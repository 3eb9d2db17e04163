"""Log-probs, entropies and values of selected tokens of a batch; only selected tokens get logits.

Legend: B rows, T tokens, N computed tokens, M selected tokens, U distinct selected tokens, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.heads import HEAD, Head
from handaxe.core.images import is_image_id
from handaxe.core.model_api import LinearHeadModel, Model, RecomputingModel, TreeModel
from handaxe.core.protocols import HiddenMeasure
from handaxe.engines.local.heads import EngineHead
from handaxe.engines.local.modules import eval_mode
from handaxe.engines.local.packing import Layout, Packing, hidden_states, padded_layout, sibling_order, tree_layout
from handaxe.ops.chunked import ENTRIES, chunked_measures
from handaxe.ops.logprob import token_collision, token_entropy, token_logp

__all__ = ["Reader", "TokenMeasures", "check_measures", "make_reader", "zero_measures"]

KNOWN = ("collision", "entropy", "logp", "value")


class Reader(NamedTuple):
    """Batch layout of an engine: packing "tree" or "rows", and most tokens of a pack; see `LocalEngine`."""

    packing: Packing
    pack_tokens: int

    def uses_trees(self, model: Model) -> bool:
        """True if batches of the model are packed as trees."""
        if self.packing == "rows" or not isinstance(model, TreeModel):
            return False
        with eval_mode(model.module):
            return model.reads_trees()

    def order(self, model: Model, batch: Batch) -> Tensor:
        """Row order for cheap micro-batches: siblings together as trees, else rows of similar length."""
        if self.uses_trees(model):
            return sibling_order(batch)
        return torch.argsort(batch.attend_BT.sum(1), stable=True)

    def layout(self, model: Model, batch: Batch) -> Layout:
        """Lay out a batch on the model's device."""
        if self.uses_trees(model):
            return tree_layout(batch, pack_tokens=self.pack_tokens, width=model.hidden_size)
        return padded_layout(batch)

    def read(self, model: Model, batch: Batch, chosen_BT: Tensor) -> TokenMeasures:
        """Run the trunk on a batch on the model's device; returns measures of the chosen tokens."""
        layout = self.layout(model, batch)
        return TokenMeasures(model, batch, layout, hidden_states(model, batch, layout), chosen_BT)


def make_reader(model: Model, *, packing: Packing, pack_tokens: int, gradient_checkpointing: bool) -> Reader:
    """Validate the options and enable gradient checkpointing on the model if requested.

    Raises:
        InputError: unknown packing, pack_tokens below 1, or a model that cannot recompute its layers.
    """
    if packing not in ("tree", "rows") or pack_tokens < 1:
        raise InputError(f"packing is {packing!r} and pack_tokens {pack_tokens}; give 'tree' or 'rows', and at least 1")
    if gradient_checkpointing:
        if not isinstance(model, RecomputingModel):
            raise InputError("this model cannot recompute its layers; leave out gradient_checkpointing=True")
        model.checkpointing = True
    return Reader(packing, pack_tokens)


def zero_measures(
    names: Sequence[str | HiddenMeasure], batch: Batch, heads: Mapping[str, Head], dtype: torch.dtype
) -> dict[str, Tensor]:
    """Zeros by name: [B, T, K] for a head of K outputs, [B, T] for any other measure."""
    widths = {HEAD + name: (head.outputs,) for name, head in heads.items()}
    words = [name if isinstance(name, str) else name.name for name in names]
    return {name: torch.zeros(batch.ids_BT.shape + widths.get(name, ()), dtype=dtype) for name in words}


def check_measures(
    names: Sequence[str | HiddenMeasure], *, critic: bool, reference: bool, heads: Collection[str] = ()
) -> None:
    """Raise InputError for an unknown measure, a value without a critic, or two measures of equal name."""
    known = (*KNOWN, *(() if reference else (HEAD + name for name in heads)))
    if unknown := [name for name in names if isinstance(name, str) and name not in known]:
        raise InputError(f"forward knows {', '.join(known)}, not {', '.join(unknown)}")
    hidden = [name.name for name in names if not isinstance(name, str)]
    if duplicates := sorted({name for name in hidden if name in KNOWN or hidden.count(name) > 1}):
        raise InputError(f"two measures have the name {', '.join(duplicates)}: rename the measure of hidden states")
    if "value" in names and (not critic or reference):
        raise InputError("a value needs an engine with critic=True, and a reference model has no critic")


class TokenMeasures:
    """Measures of chosen tokens of a batch, with gradient, aligned with the batch; 0 at all other tokens.

    A measure depends on the preceding tree node, the token and the row's temperature. Rows equal in all three share one
    computation, and their gradients add up.

    Args:
        hidden_ND: from `engines.local.packing.hidden_states`.
        chosen_BT: bool, tokens to measure; column 0 padding and image tokens are excluded.
    """

    def __init__(self, model: Model, batch: Batch, layout: Layout, hidden_ND: Tensor, chosen_BT: Tensor):
        chosen_BT = chosen_BT & batch.attend_BT
        chosen_BT[:, :1] = False
        if batch.images:
            chosen_BT &= ~is_image_id(batch.ids_BT)
        self._model = model
        self._hidden_ND = hidden_ND
        self._node_BT = layout.node_BT
        self._shape = batch.ids_BT.shape
        self._row_M, self._column_M = chosen_BT.nonzero(as_tuple=True)
        before_M = layout.node_BT[self._row_M, self._column_M - 1]
        temperatures_H, temperature_index_B = batch.temperature_B.unique(return_inverse=True)
        kinds = model.vocab_size * len(temperatures_H)
        kind_M = batch.ids_BT[self._row_M, self._column_M] * len(temperatures_H) + temperature_index_B[self._row_M]
        distinct_U, self._distinct_M = (before_M * kinds + kind_M).unique(return_inverse=True)
        self._before_U, kind_U = distinct_U // kinds, distinct_U % kinds
        self._ids_U = kind_U // len(temperatures_H)
        self._temperature_U = temperatures_H[kind_U % len(temperatures_H)]
        self._logits_UV: Tensor | None = None

    def measure(
        self,
        names: Sequence[str | HiddenMeasure],
        critic: nn.Linear | None = None,
        heads: Mapping[str, EngineHead] | None = None,
    ) -> dict[str, Tensor]:
        """[B, T] tensors by name: "logp", "entropy", "collision", "value" (needs a critic), and measures of hidden
        states, which carry no gradient; [B, T, K] for "head/NAME"."""
        scored = {HEAD + name: head for name, head in (heads or {}).items() if HEAD + name in names}
        words = [name for name in names if isinstance(name, str) and name != "value" and name not in scored]
        measured = self._measure_distinct(words)
        values = {"value": self.value(critic)} if critic is not None and "value" in names else {}
        values |= {name: self.head(head) for name, head in scored.items()}
        values |= {name.name: self._hidden(name) for name in names if not isinstance(name, str)}
        return {name: self._align(value_U) for name, value_U in measured.items()} | values

    @torch.no_grad()
    def _hidden(self, measure: HiddenMeasure) -> Tensor:
        out_BT = self._hidden_ND.new_zeros(self._shape)
        for row in self._row_M.unique().tolist():
            column_P = self._column_M[self._row_M == row]
            value_P = measure(self._hidden_ND[self._node_BT[row, column_P]])
            if value_P.shape != column_P.shape:
                raise InputError(
                    f"{measure.name} returned shape {tuple(value_P.shape)} for {len(column_P)} tokens; "
                    "return one number a token"
                )
            out_BT[row, column_P] = value_P.to(out_BT)
        return out_BT

    def value(self, critic: nn.Linear) -> Tensor:
        """[B, T] values of the states before the chosen tokens."""
        node_S, state_U = self._before_U.unique(return_inverse=True)
        return self._align(critic(self._hidden_ND[node_S].to(critic.weight.dtype))[..., 0][state_U])

    def head(self, head: EngineHead) -> Tensor:
        """[B, T, K] scores of the states before or after the chosen tokens; 0 elsewhere."""
        column_M = self._column_M - int(head.spec.at == "before")
        node_S, state_M = self._node_BT[self._row_M, column_M].unique(return_inverse=True)
        score_MK = head(self._hidden_ND[node_S])[state_M]
        empty_BTK = score_MK.new_zeros(*self._shape, score_MK.shape[-1])
        return empty_BTK.index_put((self._row_M, self._column_M), score_MK)

    def _measure_distinct(self, names: Sequence[str]) -> dict[str, Tensor]:
        if not names:
            return {}
        model, vocabulary = self._model, self._model.vocab_size
        hidden_UD = self._hidden_ND[self._before_U]
        targets = (self._ids_U, self._temperature_U)
        if len(hidden_UD) * vocabulary <= ENTRIES:
            if self._logits_UV is None:
                self._logits_UV = model.head(hidden_UD)
            return dict(zip(names, _measure_logits(names, self._logits_UV, *targets), strict=True))
        linear = model.linear_head() if isinstance(model, LinearHeadModel) else None
        if linear is not None:
            return chunked_measures(hidden_UD, *linear, *targets, names=names)
        run = partial(_measure_hidden, model, names)
        size = max(1, ENTRIES // vocabulary)
        parts = [
            checkpoint(run, *part, use_reentrant=False, preserve_rng_state=False)
            for part in zip(hidden_UD.split(size), *(tensor.split(size) for tensor in targets))
        ]
        return dict(zip(names, map(torch.cat, zip(*parts)), strict=True))

    def _align(self, value_U: Tensor) -> Tensor:
        empty_BT = value_U.new_zeros(self._shape)
        return empty_BT.index_put((self._row_M, self._column_M), value_U[self._distinct_M])


def _measure_hidden(
    model: Model, names: Sequence[str], hidden_UD: Tensor, ids_U: Tensor, temperature_U: Tensor
) -> tuple[Tensor, ...]:
    return _measure_logits(names, model.head(hidden_UD), ids_U, temperature_U)


def _measure_logits(
    names: Sequence[str], logits_UV: Tensor, ids_U: Tensor, temperature_U: Tensor
) -> tuple[Tensor, ...]:
    measures = {
        "logp": lambda: token_logp(logits_UV, ids_U, temperature_U),
        "entropy": lambda: token_entropy(logits_UV, temperature_U),
        "collision": lambda: token_collision(logits_UV, temperature_U),
    }
    return tuple(measures[name]() for name in names)
