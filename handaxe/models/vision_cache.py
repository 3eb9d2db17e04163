"""KV cache of a vision-language model with one slot per row.

Idea: where positions of images are grids, the position of the next token is kept beside the keys and values of each
token. A slot that is moved, copied or restored from a prefix cache so keeps its positions.

Example: `HuggingFaceVisionModel.slots`

Shapes: R read rows, S slots, T new tokens of a row, U attended tokens, C capacity of a slot in tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from handaxe.core.images import index_images, unique_images
from handaxe.core.model_api import Reading
from handaxe.models.huggingface_cache import CacheWrites, HuggingFaceSlots
from handaxe.models.vision_positions import grid_positions, next_positions

if TYPE_CHECKING:
    from handaxe.models.huggingface_vision import VisionTrunk

__all__ = ["VisionSlots"]


class VisionSlots(HuggingFaceSlots):
    """Slot cache of a vision-language model; implements `core.model_api.SlotCache`.

    Args:
        model: the model.
        max_length: context length in tokens.
    """

    def __init__(self, model: VisionTrunk, max_length: int):
        super().__init__(model, max_length)
        self._vision_model = model
        self._vision = model.vision
        self._next = self._weight.new_zeros(1, 1, 0, 1, dtype=torch.int64)

    def reserve(self, slots: int, length: int) -> None:
        """Increase the capacity to a number of slots and of tokens per slot; existing content stays."""
        super().reserve(slots, length)
        if self._vision.grids and self._next.shape[:3] != (self.count + 1, 1, self.length):
            new = self._next.new_zeros(self.count + 1, 1, self.length, 1)
            new[: self._next.shape[0] - 1, :, : self._next.shape[2]] = self._next[:-1]
            self._next = new

    def take(self, slot: int, start: int, stop: int) -> list[Tensor]:
        """Copy the keys, values and next positions at [start, stop)."""
        kept = [self._next[slot, :, start:stop].clone()] if self._vision.grids else []
        return [*super().take(slot, start, stop), *kept]

    def put(self, slot: int, start: int, parts: Sequence[Tensor]) -> None:
        """Write what `take` returned."""
        if self._vision.grids:
            *parts, kept = parts
            self._next[slot, :, start : start + kept.shape[1]] = kept
        super().put(slot, start, parts)

    def _run(self, ids_RT: Tensor, position_RT: Tensor, plan: CacheWrites, rows: Sequence[Reading] = ()) -> Tensor:
        images = unique_images(image for row in rows for image in row.images)
        embedded = self._vision.embed(ids_RT.flatten(), images)
        place_U = torch.arange(plan.used, device=ids_RT.device)
        distance_RTU = position_RT[:, :, None] - place_U
        sees_RTU = distance_RTU >= 0
        if self._vision.whole_images and rows and embedded.features_N is not None:
            sees_RTU = sees_RTU | self._same_image(rows, ids_RT, plan.used)
        mask = self._vision.masks(sees_RTU[:, None], distance_RTU[:, None])
        position = self._grid_positions(ids_RT, position_RT, plan, rows) if self._vision.grids else position_RT
        self.plan = plan
        try:
            return self._vision_model.run_language(embedded, ids_RT.shape, position, mask, self._cache)
        finally:
            self.plan = None

    def _same_image(self, rows: Sequence[Reading], ids_RT: Tensor, used: int) -> Tensor:
        """True where a new token and an attended token are features of one image, bool [R, T, U]."""
        width = ids_RT.shape[1]
        block_RU = np.full((len(rows), used + width), -1)
        for block_U, row in zip(block_RU, rows):
            ids = np.asarray(row.ids, np.int64)
            block_U[: len(ids)] = self._vision.blocks(ids, row.images)
        new_RT = np.stack([block_U[row.start : row.start + width] for block_U, row in zip(block_RU, rows)])
        same = (new_RT[:, :, None] == block_RU[:, None, :used]) & (new_RT >= 0)[:, :, None]
        return torch.from_numpy(same).to(ids_RT.device)

    def _grid_positions(self, ids_RT: Tensor, place_RT: Tensor, plan: CacheWrites, rows: Sequence[Reading]) -> Tensor:
        """Positions [3, R, T] of new tokens; stores the next positions."""
        slot_N, place_N = plan.targets
        if not rows:
            before_N = self._next[slot_N, 0, (place_N - 1).clamp(min=0), 0]
            self._next[slot_N, 0, place_N, 0] = before_N + 1
            return before_N[None, :, None].expand(3, -1, -1)
        position_3RT = place_RT.expand(3, *place_RT.shape).clone()
        for number, row in enumerate(rows):
            ids, grid = np.asarray(row.ids, np.int64), partial(self._vision.grid, index_images(row.images))
            depth, last = np.arange(len(ids)), np.full(len(ids), len(ids) - 1)
            new = slice(row.start, len(ids))
            where = grid_positions(ids, depth, last, grid)[:, new]
            position_3RT[:, number, : len(ids) - row.start] = torch.from_numpy(where).to(place_RT.device)
            follows = torch.from_numpy(next_positions(ids, depth, last, grid)[new]).to(place_RT.device)
            self._next[row.slot, 0, new, 0] = follows
        for copy in plan.copies:
            self._next[copy.target, 0, copy.start : copy.stop] = self._next[copy.source, 0, copy.start : copy.stop]
        return position_3RT
