"""Keys and values of a transformers model, row by row in slots: each written at its row's own positions.

The model is told every token's position and, with a mask for every pair, what it may look at; transformers' own cache
only asks our layers where keys and values go. Rows of any length stand side by side without padding between.

Shapes: R rows read, S slots, T tokens read a row, N tokens in all, C tokens a slot has room for, H key-value heads,
K width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from handaxe.core.model_api import Copying, Reading
from handaxe.models.decoder import Decoder
from handaxe.models.huggingface_attention import attend_read, attend_written

if TYPE_CHECKING:
    from handaxe.models.trunk import Trunk

__all__ = ["PretrainedSlots", "fits"]

GROWTH = 64


class _Plan(NamedTuple):
    """Where the forward at hand puts keys and values, and which it attends to."""

    tokens: tuple[Tensor, Tensor]
    """Row and column, [N] each, of the tokens that count."""
    places: tuple[Tensor, Tensor]
    """Slot and position, [N] each, that they go to."""
    copies: Sequence[Copying]
    slots: Tensor | slice
    used: int


class _Layer:
    """One layer's keys and values, [S + 1, H, C, K]; the last slot takes what is to be lost. A layer of transformers'
    `Cache`, without its base class, which would have to be imported."""

    is_compileable = is_croppable = is_sliding = False

    def __init__(self, owner: PretrainedSlots):
        self._owner = owner
        self.stored: list[Tensor] = []

    def resize(self, slots: int, length: int) -> None:
        """Grow, and keep what is there."""
        for kind, old in enumerate(self.stored):
            new = old.new_zeros(slots + 1, old.shape[1], length, old.shape[3])
            new[: old.shape[0] - 1, :, : old.shape[2]] = old[:-1]
            self.stored[kind] = new

    def update(self, keys: Tensor, values: Tensor, *unused: Any) -> tuple[Tensor, Tensor]:
        """Put new keys and values [R, H, T, K] in place; all that the rows attend to."""
        plan = self._owner.plan
        assert plan is not None
        self._make(keys, values)
        for stored, new in zip(self.stored, (keys, values)):
            row_N, column_N = plan.tokens
            slot_N, position_N = plan.places
            stored[slot_N, :, position_N] = new[row_N, :, column_N]
        self._copy(plan.copies)
        first, second = (stored[plan.slots, :, : plan.used] for stored in self.stored)
        return first, second

    def lay(self, at_N: Tensor, keys: Tensor, values: Tensor, copies: Sequence[Copying]) -> None:
        """Put new keys and values [N, H, K] in place; `at_N` [N * H] counts rows of K numbers."""
        self._make(keys, values)
        for stored, new in zip(self.stored, (keys, values)):
            stored.view(-1, stored.shape[3]).index_copy_(0, at_N, new.reshape(-1, stored.shape[3]))
        self._copy(copies)

    def _make(self, *like: Tensor) -> None:
        if not self.stored:
            sizes = self._owner.count + 1, self._owner.length
            self.stored = [x.new_zeros(sizes[0], x.shape[1], sizes[1], x.shape[-1]) for x in like]

    def _copy(self, copies: Sequence[Copying]) -> None:
        for copy in copies:
            for stored in self.stored:
                stored[copy.target, :, copy.start : copy.stop] = stored[copy.source, :, copy.start : copy.stop]

    def get_seq_length(self) -> int:
        """What transformers would count positions from, were they not given."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The mask that is given is taken as it is."""
        return (query_length if self._owner.plan is None else self._owner.plan.used), 0

    def get_max_length(self) -> int:
        """None."""
        return -1


class PretrainedSlots:
    """The cache; implements `networks.SlotCache`. The model must pass `fits`.

    Args:
        decoder: the model's layers, called directly; None to go through transformers.
    """

    def __init__(self, model: Trunk, max_length: int, decoder: Decoder | None = None):
        from transformers import Cache

        self._model = model
        self._max_length = max_length
        self._decoder = decoder
        self.several = decoder is not None
        self._layers: list[_Layer] = []
        self._cache: Any = Cache(layer_class_to_replicate=self._layer)  # type: ignore[arg-type]
        self._weight = model.module.get_input_embeddings().weight
        self.count = self.length = 0
        self.plan: _Plan | None = None
        config = model.module.config.get_text_config()
        self._heads = heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.token_bytes: int = 2 * config.num_hidden_layers * heads * width * self._weight.element_size()

    def _layer(self) -> _Layer:
        self._layers.append(_Layer(self))
        return self._layers[-1]

    def reserve(self, slots: int, length: int) -> None:
        """Make room for this many slots and tokens each, and keep what is there."""
        if slots <= self.count and length <= self.length:
            return
        self.count = max(self.count, slots)
        if length > self.length:
            self.length = -(-max(length, self.length * 5 // 4) // GROWTH) * GROWTH
        for layer in self._layers:
            layer.resize(self.count, self.length)

    def read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Logits [R, V] after each row, all of them read at once. The copies are carried out in their order."""
        if self._decoder is not None:
            return self._directly(self._decoder, (), (), rows, copies)
        device = self._weight.device
        new = [row.ids[row.start :] for row in rows]
        width, used = max(map(len, new)), max(len(row.ids) for row in rows)
        ids_RT = torch.tensor([[*ids, *[0] * (width - len(ids))] for ids in new], device=device)
        start_R = torch.tensor([row.start for row in rows], device=device)
        length_R = torch.tensor([len(ids) for ids in new], device=device)
        slot_R = torch.tensor([row.slot for row in rows], device=device)
        column_T = torch.arange(width, device=device)
        position_RT = start_R[:, None] + column_T
        row_N, column_N = (column_T < length_R[:, None]).nonzero(as_tuple=True)
        places = slot_R[row_N], position_RT[row_N, column_N]
        plan = _Plan((row_N, column_N), places, copies, slot_R, used)
        hidden_RTD = self._run(ids_RT, position_RT.clamp(max=self._max_length - 1), plan)
        return self._model.head(hidden_RTD[torch.arange(len(rows), device=device), length_R - 1])

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Logits [N, V] after the next tokens in each of the first S slots; one whose position is -1 stays as it is."""
        del before
        if self._decoder is not None:
            return self._directly(self._decoder, tokens, positions, (), ())
        ids = [token for (token,) in tokens]
        device, index_S = self._weight.device, torch.arange(len(ids), device=self._weight.device)
        position_S = torch.tensor(positions, device=device)
        slot_S = torch.where(position_S < 0, self.count, index_S)
        position_S = position_S.clamp(min=0)
        plan = _Plan((index_S, index_S * 0), (slot_S, position_S), (), slice(len(ids)), max(positions) + 1)
        hidden_S1D = self._run(torch.tensor(ids, device=device)[:, None], position_S[:, None], plan)
        return self._model.head(hidden_S1D[:, 0])

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> tuple[Tensor | None, Tensor | None]:
        """What `write` gives for the first three and `read` for the others; called directly, in one forward."""
        if self._decoder is not None and tokens and rows:
            logits_NV = self._directly(self._decoder, tokens, positions, rows, copies)
            return logits_NV[: -len(rows)], logits_NV[-len(rows) :]
        return self.write(tokens, before, positions) if tokens else None, self.read(rows, copies) if rows else None

    def _run(self, ids_RT: Tensor, position_RT: Tensor, plan: _Plan) -> Tensor:
        later = torch.arange(plan.used, device=position_RT.device) > position_RT[:, None, :, None]
        attend = torch.zeros(later.shape, dtype=self._weight.dtype, device=later.device)
        attend.masked_fill_(later, torch.finfo(attend.dtype).min)
        self.plan = plan
        try:
            return self._model.hidden_cached(ids_RT, position_RT, attend, self._cache)
        finally:
            self.plan = None

    def _directly(
        self,
        decoder: Decoder,
        written: Sequence[Sequence[int]],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> Tensor:
        """Logits [N + R, V] of what `write` and what `read` is given."""
        tokens = list[int]()
        slots = list[int]()
        places = list[int]()
        for slot, (ids, position) in enumerate(zip(written, positions)):
            tokens += ids
            slots += [self.count if position < 0 else slot] * len(ids)
            places += range(max(position, 0), max(position, 0) + len(ids))
        ends = list(range(len(tokens)))
        for row in rows:
            tokens += row.ids[row.start :]
            slots += [row.slot] * (len(row.ids) - row.start)
            places += range(row.start, len(row.ids))
            ends.append(len(tokens) - 1)
        ids_N, slot_N, position_N = torch.tensor([tokens, slots, places], device=self._weight.device)
        head_H = torch.arange(self._heads, device=slot_N.device)
        at_N = ((slot_N[:, None] * self._heads + head_H) * self.length + position_N[:, None]).flatten()
        written_part = attend_written([*map(len, written)], positions, self._weight)
        read = [attend_read(row, end, slot_N.device) for row, end in zip(rows, ends[-len(rows) :])]

        def attend(index: int, q_NHK: Tensor, k_NHK: Tensor, v_NHK: Tensor) -> Tensor:
            if index == len(self._layers):
                self._layer()
            layer = self._layers[index]
            layer.lay(at_N, k_NHK, v_NHK, copies)
            parts = [one(q_NHK, *layer.stored) for one in (written_part, *read)]
            return torch.cat(parts) if rows else parts[0]

        hidden_ND = decoder.hidden(ids_N, position_N, attend)
        return self._model.head(hidden_ND[torch.tensor(ends, device=slot_N.device)] if rows else hidden_ND)

    def take(self, slot: int, start: int, stop: int) -> list[Tensor]:
        """A copy of the keys and values at [start, stop), [H, T, K] for each layer and kind."""
        return [stored[slot, :, start:stop].clone() for layer in self._layers for stored in layer.stored]

    def put(self, slot: int, start: int, parts: Sequence[Tensor]) -> None:
        """Lay down what `take` gave."""
        every = [stored for layer in self._layers for stored in layer.stored]
        for stored, part in zip(every, parts, strict=True):
            stored[slot, :, start : start + part.shape[1]] = part


@torch.no_grad()
def fits(model: Trunk, max_length: int, rounding: float, decoder: Decoder | None = None) -> bool:
    """Whether the model says the same through the cache as without: a small row is read in parts beside another one.

    Args:
        rounding: largest difference of a logit, relative to the largest.
    """
    vocabulary = model.module.get_input_embeddings().num_embeddings
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocabulary, (min(6, max_length),), generator=draw).tolist()
    if len(ids) < 4:
        return False
    try:
        cache = PretrainedSlots(model, max_length, decoder)
        cache.reserve(2, len(ids))
        cache.read([Reading(0, ids[:3], 0), Reading(1, ids[:1], 0)], [])
        read_RV = cache.read([Reading(1, ids[:-2], 1)], [])
        ends = [[token] for token in ids[-2:]] if not cache.several else [ids[-2:]]
        parts = [cache.write([[0], end], [0, 0], [-1, len(ids) - 2 + k])[1:] for k, end in enumerate(ends)]
    except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, AttributeError, AssertionError):
        return False
    ids_1T = torch.tensor([ids], device=read_RV.device)
    want_TV = model.head(model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool)))[0]
    gap = (torch.cat([read_RV, *parts]) - want_TV[-3:]).abs().max()
    return bool(gap <= rounding * want_TV.abs().max())
