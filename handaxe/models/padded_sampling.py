"""Padded sampling of a transformers model with the KV cache of transformers: rows end together.

For models without a slot cache, such as models with a sliding window. Rows are padded on the left.

Shapes: B rows, T tokens, V vocabulary.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.models.trunk import Trunk, to_float32

__all__ = ["PREFILL_CHUNK", "PaddedCache", "PaddedSampling"]

PREFILL_CHUNK = 2048
"""Most columns of prompts read in one forward pass."""


class PaddedCache(NamedTuple):
    """A transformers KV cache, the attention mask of its columns [B, T], and the number of tokens in each row [B]."""

    past: Any
    attend_BT: Tensor
    lengths_B: Tensor


class PaddedSampling(Trunk):
    """Prefill, decoding and selection of rows; implements `core.model_api.PaddedModel` with a `pad_id`."""

    pad_id: int

    def prefill(
        self, rows: Sequence[Sequence[int]], room: int, images: Sequence[Image] = ()
    ) -> tuple[Tensor, PaddedCache]:
        """Return the logits [B, V] after each row, and a cache.

        Long prompts are read `PREFILL_CHUNK` columns at a time.

        The cache grows on demand, so `room` is not used.

        Raises:
            InputError: there are images.
        """
        del room
        if images:
            raise InputError("a model that is sampled in padded rows reads no images: use a model with a slot cache")
        device = self.module.get_input_embeddings().weight.device
        longest = max(len(row) for row in rows)
        ids_BT = torch.tensor([[self.pad_id] * (longest - len(row)) + list(row) for row in rows], device=device)
        lengths_B = torch.tensor([len(row) for row in rows], device=device)
        column_T = torch.arange(longest, device=device)
        attend_BT = column_T >= longest - lengths_B[:, None]
        position_BT = (column_T - (longest - lengths_B[:, None])).clamp(min=0)
        past = None
        for stop in range(PREFILL_CHUNK, longest, PREFILL_CHUNK):
            part = slice(stop - PREFILL_CHUNK, stop)
            cache = PaddedCache(past, attend_BT[:, :stop], lengths_B)
            past = self._step(ids_BT[:, part], position_BT[:, part], cache)[1].past
        part = slice((longest - 1) // PREFILL_CHUNK * PREFILL_CHUNK, longest)
        return self._step(ids_BT[:, part], position_BT[:, part], PaddedCache(past, attend_BT, lengths_B))

    def decode(self, ids_B: Tensor, cache: PaddedCache) -> tuple[Tensor, PaddedCache]:
        """Return the logits [B, V] after one more token per row. The passed cache is invalid after the call."""
        attend_BT = torch.nn.functional.pad(cache.attend_BT, (0, 1), value=True)
        grown = PaddedCache(cache.past, attend_BT, cache.lengths_B + 1)
        return self._step(ids_B[:, None], cache.lengths_B[:, None], grown)

    def keep(self, cache: PaddedCache, rows: Tensor) -> PaddedCache:
        """Select rows of a cache into a new cache. Rows may repeat; the old cache stays valid."""
        past = copy.copy(cache.past)
        past.layers = [copy.copy(layer) for layer in cache.past.layers]
        past.batch_select_indices(rows)
        return PaddedCache(past, cache.attend_BT[rows], cache.lengths_B[rows])

    def _step(self, ids_BT: Tensor, position_BT: Tensor, cache: PaddedCache) -> tuple[Tensor, PaddedCache]:
        options = self._options(position_BT, last_only=True)
        name = self.cache_name()
        options |= {"attention_mask": cache.attend_BT.long(), "use_cache": True, name: cache.past}
        out = self.module(input_ids=ids_BT, **options)
        return to_float32(out.logits[:, -1]), cache._replace(past=out[name])
