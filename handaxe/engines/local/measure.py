"""What a model says of the tokens of a batch: logits are made only before the tokens that are asked for.

Legend: B rows, T tokens, N tokens computed, M tokens asked for, U distinct ones of these, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.model_api import LinearHeadModel, Model, RecomputingModel, TreeModel
from handaxe.core.protocols import HiddenMeasure
from handaxe.engines.local.modules import evaluating
from handaxe.engines.local.packing import Layout, Packing, lay_out, padded, read, sibling_order
from handaxe.ops.chunked import ENTRIES, chunked_measures
from handaxe.ops.logprob import token_collision, token_entropy, token_logp

__all__ = ["Measuring", "Reader", "check_measures", "make_reader", "measure_names"]

KNOWN = ("collision", "entropy", "logp", "value")


class Reader(NamedTuple):
    """How an engine reads batches: packing "tree" or "rows", and most tokens of a pack; see `LocalEngine`."""

    packing: Packing
    pack_tokens: int

    def uses_trees(self, model: Model) -> bool:
        """Whether this model is read as trees."""
        if self.packing == "rows" or not isinstance(model, TreeModel):
            return False
        with evaluating(model.module):
            return model.reads_trees()

    def order(self, model: Model, batch: Batch) -> Tensor:
        """The order of rows in which it is cheap to read them a few at a time."""
        if self.uses_trees(model):
            return sibling_order(batch)
        return torch.argsort(batch.attend_BT.sum(1), stable=True)

    def layout(self, model: Model, batch: Batch) -> Layout:
        """How a batch that is on the model's device is read."""
        if self.uses_trees(model):
            return lay_out(batch, pack_tokens=self.pack_tokens, width=model.hidden_size)
        return padded(batch)

    def read(self, model: Model, batch: Batch, chosen_BT: Tensor) -> Measuring:
        """Read a batch that is on the model's device, to ask about the chosen tokens."""
        layout = self.layout(model, batch)
        return Measuring(model, batch, layout, read(model, batch, layout), chosen_BT)


def make_reader(model: Model, *, packing: Packing, pack_tokens: int, checkpointing: bool) -> Reader:
    """Check the choices and set the model up for them.

    Raises:
        InputError: for an unknown packing, no room in a pack, or a model that cannot compute its layers again.
    """
    if packing not in ("tree", "rows") or pack_tokens < 1:
        raise InputError(f"packing is {packing!r} and pack_tokens {pack_tokens}; give 'tree' or 'rows', and at least 1")
    if checkpointing:
        if not isinstance(model, RecomputingModel):
            raise InputError("this model cannot compute its layers again; leave out checkpointing=True")
        model.checkpointing = True
    return Reader(packing, pack_tokens)


def measure_names(names: Sequence[str | HiddenMeasure]) -> list[str]:
    """What the answers are called."""
    return [name if isinstance(name, str) else name.name for name in names]


def check_measures(names: Sequence[str | HiddenMeasure], *, critic: bool, reference: bool) -> None:
    """Raise InputError for a measure that there is not, a value without a critic, or two measures of one name."""
    if unknown := [name for name in names if isinstance(name, str) and name not in KNOWN]:
        raise InputError(f"forward knows {', '.join(KNOWN)}, not {', '.join(unknown)}")
    own = [name.name for name in names if not isinstance(name, str)]
    if taken := sorted({name for name in own if name in KNOWN or own.count(name) > 1}):
        raise InputError(f"a measure of hidden states is called {', '.join(taken)}, as another one is: rename it")
    if "value" in names and (not critic or reference):
        raise InputError("a value needs an engine with critic=True, and its reference model has none")


class Measuring:
    """Measures of chosen tokens of a batch, with gradient, each aligned with the batch: 0 wherever not asked for.

    A token's measures depend on the token before it in the trees, on itself and on the row's temperature; where
    rows agree in all three they are computed once, and the gradient of the rows adds up.

    Args:
        hidden_ND: from `engines.local.packing.read`.
        chosen_BT: bool, the tokens to measure; column 0 and padding never are.
    """

    def __init__(self, model: Model, batch: Batch, layout: Layout, hidden_ND: Tensor, chosen_BT: Tensor):
        chosen_BT = chosen_BT & batch.attend_BT
        chosen_BT[:, :1] = False
        self._model = model
        self._hidden_ND = hidden_ND
        self._node_BT = layout.node_BT
        self._shape = batch.ids_BT.shape
        self._row_M, self._column_M = chosen_BT.nonzero(as_tuple=True)
        before_M = layout.node_BT[self._row_M, self._column_M - 1]
        heats_H, heat_B = batch.temperature_B.unique(return_inverse=True)
        kinds = model.vocab_size * len(heats_H)
        kind_M = batch.ids_BT[self._row_M, self._column_M] * len(heats_H) + heat_B[self._row_M]
        distinct_U, self._which_M = (before_M * kinds + kind_M).unique(return_inverse=True)
        self._before_U, kind_U = distinct_U // kinds, distinct_U % kinds
        self._ids_U, self._temperature_U = kind_U // len(heats_H), heats_H[kind_U % len(heats_H)]
        self._logits_UV: Tensor | None = None

    def measure(self, names: Sequence[str | HiddenMeasure], critic: nn.Linear | None = None) -> dict[str, Tensor]:
        """[B, T] tensors by name: any of "logp", "entropy", "collision" and, with a critic, "value"; and what measures
        of hidden states say, which has no gradient."""
        found = self._distinct([name for name in names if isinstance(name, str) and name != "value"])
        values = {"value": self.value(critic)} if critic is not None and "value" in names else {}
        values |= {name.name: self._hidden(name) for name in names if not isinstance(name, str)}
        return {name: self._aligned(value_U) for name, value_U in found.items()} | values

    @torch.no_grad()
    def _hidden(self, measure: HiddenMeasure) -> Tensor:
        out_BT = self._hidden_ND.new_zeros(self._shape)
        for row in self._row_M.unique().tolist():
            column_P = self._column_M[self._row_M == row]
            found_P = measure(self._hidden_ND[self._node_BT[row, column_P]])
            if found_P.shape != column_P.shape:
                raise InputError(
                    f"{measure.name} gave {tuple(found_P.shape)} for {len(column_P)} tokens; give one number a token"
                )
            out_BT[row, column_P] = found_P.to(out_BT)
        return out_BT

    def value(self, critic: nn.Linear) -> Tensor:
        """[B, T] values of the states before the chosen tokens."""
        node_S, which_U = self._before_U.unique(return_inverse=True)
        return self._aligned(critic(self._hidden_ND[node_S].to(critic.weight.dtype))[..., 0][which_U])

    def _distinct(self, names: Sequence[str]) -> dict[str, Tensor]:
        if not names:
            return {}
        model, vocabulary = self._model, self._model.vocab_size
        hidden_UD = self._hidden_ND[self._before_U]
        rest = (self._ids_U, self._temperature_U)
        if len(hidden_UD) * vocabulary <= ENTRIES:
            if self._logits_UV is None:
                self._logits_UV = model.head(hidden_UD)
            return dict(zip(names, _plain(names, self._logits_UV, *rest), strict=True))
        linear = model.linear_head() if isinstance(model, LinearHeadModel) else None
        if linear is not None:
            return chunked_measures(hidden_UD, *linear, *rest, names=names)
        run = partial(_through_head, model, names)
        size = max(1, ENTRIES // vocabulary)
        parts = [
            checkpoint(run, *part, use_reentrant=False, preserve_rng_state=False)
            for part in zip(hidden_UD.split(size), *(tensor.split(size) for tensor in rest))
        ]
        return dict(zip(names, map(torch.cat, zip(*parts)), strict=True))

    def _aligned(self, value_U: Tensor) -> Tensor:
        empty_BT = value_U.new_zeros(self._shape)
        return empty_BT.index_put((self._row_M, self._column_M), value_U[self._which_M])


def _through_head(
    model: Model, names: Sequence[str], hidden_UD: Tensor, ids_U: Tensor, temperature_U: Tensor
) -> tuple[Tensor, ...]:
    return _plain(names, model.head(hidden_UD), ids_U, temperature_U)


def _plain(names: Sequence[str], logits_UV: Tensor, ids_U: Tensor, temperature_U: Tensor) -> tuple[Tensor, ...]:
    measures = {
        "logp": lambda: token_logp(logits_UV, ids_U, temperature_U),
        "entropy": lambda: token_entropy(logits_UV, temperature_U),
        "collision": lambda: token_collision(logits_UV, temperature_U),
    }
    return tuple(measures[name]() for name in names)
