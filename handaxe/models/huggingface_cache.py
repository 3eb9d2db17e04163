"""KV cache of a transformers model with one slot per row, for continuous batching.

The model receives explicit positions and a mask for each pair of tokens. The cache layers here write keys and values at
the positions of each row. Rows of different lengths need no padding between them.

Shapes: R read rows, S slots, T read tokens of a row, N tokens in all, C capacity of a slot in tokens, H key-value
heads, K width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from handaxe.core.model_api import Copying, Reading
from handaxe.models.huggingface_attention import decode_attention, prefill_attention
from handaxe.models.llama_decoder import LlamaDecoder

if TYPE_CHECKING:
    from handaxe.models.trunk import Trunk

__all__ = ["CacheWrites", "HuggingFaceSlots", "supports_slot_cache"]

GROWTH = 64


class CacheWrites(NamedTuple):
    """Cache writes of the current forward, and the slots and positions of its attention."""

    tokens: tuple[Tensor, Tensor]
    """Row and column, [N] each, of the tokens without padding."""
    targets: tuple[Tensor, Tensor]
    """Slot and position, [N] each, of these tokens in the cache."""
    copies: Sequence[Copying]
    slots: Tensor | slice
    used: int


class _Layer:
    """Keys and values of one layer, [S + 1, H, C, K]; the last slot receives discarded tokens.

    Implements the interface of a layer in transformers' `Cache`, without an import of the base class.
    """

    is_compileable = is_croppable = is_sliding = False

    def __init__(self, owner: HuggingFaceSlots):
        self._owner = owner
        self.stored: list[Tensor] = []

    def resize(self, slots: int, length: int) -> None:
        """Increase the capacity; existing keys and values stay."""
        for kind, old in enumerate(self.stored):
            new = old.new_zeros(slots + 1, old.shape[1], length, old.shape[3])
            new[: old.shape[0] - 1, :, : old.shape[2]] = old[:-1]
            self.stored[kind] = new

    def update(self, keys: Tensor, values: Tensor, *unused: Any, kwargs: Any = None) -> tuple[Tensor, Tensor]:
        """Write new keys and values [R, H, T, K]; return all keys and values that the rows attend to."""
        del unused, kwargs
        plan = self._owner.plan
        assert plan is not None
        self._allocate(keys, values)
        for stored, new in zip(self.stored, (keys, values)):
            row_N, column_N = plan.tokens
            slot_N, position_N = plan.targets
            stored[slot_N, :, position_N] = new[row_N, :, column_N]
        self._copy(plan.copies)
        first, second = (stored[plan.slots, :, : plan.used] for stored in self.stored)
        return first, second

    def store(self, index_N: Tensor, keys: Tensor, values: Tensor, copies: Sequence[Copying]) -> None:
        """Write new keys and values [N, H, K]; `index_N` [N * H] numbers the rows of K numbers."""
        self._allocate(keys, values)
        for stored, new in zip(self.stored, (keys, values)):
            stored.view(-1, stored.shape[3]).index_copy_(0, index_N, new.reshape(-1, stored.shape[3]))
        self._copy(copies)

    def _allocate(self, *like: Tensor) -> None:
        if not self.stored:
            sizes = self._owner.count + 1, self._owner.length
            self.stored = [x.new_zeros(sizes[0], x.shape[1], sizes[1], x.shape[-1]) for x in like]

    def _copy(self, copies: Sequence[Copying]) -> None:
        for copy in copies:
            for stored in self.stored:
                stored[copy.target, :, copy.start : copy.stop] = stored[copy.source, :, copy.start : copy.stop]

    def get_seq_length(self) -> int:
        """Return 0: positions are explicit."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the number of attended positions, and offset 0: the mask is explicit."""
        return (query_length if self._owner.plan is None else self._owner.plan.used), 0

    def get_max_length(self) -> int:
        """Return -1: no maximum."""
        return -1


class HuggingFaceSlots:
    """Slot cache of a transformers model; implements `core.model_api.SlotCache`.

    Args:
        model: a model that passes `supports_slot_cache`.
        max_length: context length in tokens.
        decoder: decoder layers to call directly; None to call transformers.
    """

    def __init__(self, model: Trunk, max_length: int, decoder: LlamaDecoder | None = None):
        from transformers import Cache

        self._model = model
        self._max_length = max_length
        self._decoder = decoder
        self.several = decoder is not None
        self._layers: list[_Layer] = []
        self._cache: Any = Cache(layer_class_to_replicate=self._layer)  # type: ignore[arg-type]
        self._weight = model.module.get_input_embeddings().weight
        self.count = self.length = 0
        self.plan: CacheWrites | None = None
        config = model.module.config.get_text_config()
        self._heads = heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.token_bytes: int = 2 * config.num_hidden_layers * heads * width * self._weight.element_size()

    def _layer(self) -> _Layer:
        self._layers.append(_Layer(self))
        return self._layers[-1]

    def reserve(self, slots: int, length: int) -> None:
        """Increase the capacity to a number of slots and of tokens per slot; existing content stays."""
        if slots <= self.count and length <= self.length:
            return
        self.count = max(self.count, slots)
        if length > self.length:
            self.length = -(-max(length, self.length * 5 // 4) // GROWTH) * GROWTH
        for layer in self._layers:
            layer.resize(self.count, self.length)

    def read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Prefill rows in one forward; return the logits [R, V] after each row. Copies run in order."""
        if self._decoder is not None:
            return self._decode_directly(self._decoder, (), (), rows, copies)
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
        targets = slot_R[row_N], position_RT[row_N, column_N]
        plan = CacheWrites((row_N, column_N), targets, copies, slot_R, used)
        hidden_RTD = self._run(ids_RT, position_RT.clamp(max=self._max_length - 1), plan, rows)
        return self._model.head(hidden_RTD[torch.arange(len(rows), device=device), length_R - 1])

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Decode the next tokens of the first S slots; return the logits [N, V]. Position -1 skips a slot."""
        del before
        if self._decoder is not None:
            return self._decode_directly(self._decoder, tokens, positions, (), ())
        ids = [token for (token,) in tokens]
        device, index_S = self._weight.device, torch.arange(len(ids), device=self._weight.device)
        position_S = torch.tensor(positions, device=device)
        slot_S = torch.where(position_S < 0, self.count, index_S)
        position_S = position_S.clamp(min=0)
        plan = CacheWrites((index_S, index_S * 0), (slot_S, position_S), (), slice(len(ids)), max(positions) + 1)
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
        """Return the logits of `write` and of `read`; one forward if the decoder layers are called directly."""
        if self._decoder is not None and tokens and rows:
            logits_NV = self._decode_directly(self._decoder, tokens, positions, rows, copies)
            return logits_NV[: -len(rows)], logits_NV[-len(rows) :]
        return self.write(tokens, before, positions) if tokens else None, self.read(rows, copies) if rows else None

    def _run(self, ids_RT: Tensor, position_RT: Tensor, plan: CacheWrites, rows: Sequence[Reading] = ()) -> Tensor:
        """Compute the hidden states [R, T, D] of new tokens at these positions; `rows` when prompts are read."""
        del rows
        future = torch.arange(plan.used, device=position_RT.device) > position_RT[:, None, :, None]
        attend = torch.zeros(future.shape, dtype=self._weight.dtype, device=future.device)
        attend.masked_fill_(future, torch.finfo(attend.dtype).min)
        self.plan = plan
        try:
            return self._model.hidden_cached(ids_RT, position_RT, attend, self._cache)
        finally:
            self.plan = None

    def _decode_directly(
        self,
        decoder: LlamaDecoder,
        decoded: Sequence[Sequence[int]],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> Tensor:
        """Return the logits [N + R, V] of the arguments of `write` and of `read`."""
        tokens = list[int]()
        slots = list[int]()
        columns = list[int]()
        for slot, (ids, position) in enumerate(zip(decoded, positions)):
            tokens += ids
            slots += [self.count if position < 0 else slot] * len(ids)
            columns += range(max(position, 0), max(position, 0) + len(ids))
        ends = list(range(len(tokens)))
        for row in rows:
            tokens += row.ids[row.start :]
            slots += [row.slot] * (len(row.ids) - row.start)
            columns += range(row.start, len(row.ids))
            ends.append(len(tokens) - 1)
        ids_N, slot_N, position_N = torch.tensor([tokens, slots, columns], device=self._weight.device)
        head_H = torch.arange(self._heads, device=slot_N.device)
        index_N = ((slot_N[:, None] * self._heads + head_H) * self.length + position_N[:, None]).flatten()
        decode = decode_attention([*map(len, decoded)], positions, self._weight)
        prefills = [prefill_attention(row, end, slot_N.device) for row, end in zip(rows, ends[-len(rows) :])]

        def attend(index: int, q_NHK: Tensor, k_NHK: Tensor, v_NHK: Tensor) -> Tensor:
            if index == len(self._layers):
                self._layer()
            layer = self._layers[index]
            layer.store(index_N, k_NHK, v_NHK, copies)
            parts = [attention(q_NHK, *layer.stored) for attention in (decode, *prefills)]
            return torch.cat(parts) if rows else parts[0]

        hidden_ND = decoder.hidden(ids_N, position_N, attend)
        return self._model.head(hidden_ND[torch.tensor(ends, device=slot_N.device)] if rows else hidden_ND)

    def take(self, slot: int, start: int, stop: int) -> list[Tensor]:
        """Copy the keys and values at positions [start, stop), [H, T, K] per layer, keys and values in turn."""
        return [stored[slot, :, start:stop].clone() for layer in self._layers for stored in layer.stored]

    def put(self, slot: int, start: int, parts: Sequence[Tensor]) -> None:
        """Write keys and values that `take` returned."""
        tensors = [stored for layer in self._layers for stored in layer.stored]
        for stored, part in zip(tensors, parts, strict=True):
            stored[slot, :, start : start + part.shape[1]] = part


@torch.no_grad()
def supports_slot_cache(model: Trunk, max_length: int, rounding: float, decoder: LlamaDecoder | None = None) -> bool:
    """Check by a small test run that the model computes equal logits with and without the slot cache.

    Args:
        model: the model.
        max_length: context length in tokens.
        rounding: allowed difference of the logits, relative to the largest logit.
        decoder: decoder layers to call directly; None to call transformers.
    """
    vocabulary = model.module.get_input_embeddings().num_embeddings
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocabulary, (min(6, max_length),), generator=generator).tolist()
    if len(ids) < 4:
        return False
    try:
        cache = HuggingFaceSlots(model, max_length, decoder)
        cache.reserve(2, len(ids))
        cache.read([Reading(0, ids[:3], 0), Reading(1, ids[:1], 0)], [])
        read_RV = cache.read([Reading(1, ids[:-2], 1)], [])
        ends = [[token] for token in ids[-2:]] if not cache.several else [ids[-2:]]
        parts = [cache.write([[0], end], [0, 0], [-1, len(ids) - 2 + k])[1:] for k, end in enumerate(ends)]
    except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, AttributeError, AssertionError):
        return False
    ids_1T = torch.tensor([ids], device=read_RV.device)
    expected_TV = model.head(model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool)))[0]
    gap = (torch.cat([read_RV, *parts]) - expected_TV[-3:]).abs().max()
    return bool(gap <= rounding * expected_TV.abs().max())
