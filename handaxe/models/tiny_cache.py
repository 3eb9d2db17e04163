"""KV cache of a TinyNet with one slot per row, for continuous batching.

Logits of a token are equal up to rounding for prefill, for prefill after a cached prefix and for decoding, and for each
batch. Rounding differs because a processor rounds a product by its shape. Equal calls give bitwise equal logits.

Shapes: N tokens, S slots, C capacity of a slot in tokens, U attended positions, H query heads, G key-value heads,
K width of a head, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from handaxe.core.images import FIRST_IMAGE_ID, Image
from handaxe.core.model_api import Copying, Reading

if TYPE_CHECKING:
    from handaxe.models.tiny import TinyNet

__all__ = ["TinySlots"]

GROWTH = 64
MULTIPLE = 16
GROUP = 1024
"""Number of tokens in one prefill, rounded up to whole rows."""
ROWS = 8
"""Number of neighbouring slots that always share one attention call."""
SPLIT = 800
"""Attention size, in positions times rows, with about the cost of one more kernel call."""

_Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [1, H, N, K], keys [1, G, N, K], values [1, G, N, K]) of new tokens -> [1, H, N, K]."""


class _Part(NamedTuple):
    """New tokens [first, stop) of one prefilled row, with slot and attention mask; or of several rows of equal length.

    slot      the slot of the row
    first     index of the first new token
    stop      index after the last new token
    used      length of the row, or of each row
    rows      number of whole rows; 0 for a row with a cached prefix
    mask_TU   allowed positions per new token; None for no mask
    """

    slot: int
    first: int
    stop: int
    used: int
    rows: int
    mask_TU: Tensor | None


class TinySlots:
    """Slot cache of a TinyNet; implements `core.model_api.SlotCache`. One extra slot receives discarded tokens."""

    several = False

    def __init__(self, net: TinyNet):
        weight, config = net.embed.weight, net.config
        self._net = net
        self._heads = config.cached_heads
        self._grouped = config.heads != config.cached_heads
        self._width = config.width // config.heads
        self._scale = self._width**-0.5
        self._slots = self._length = 0
        self._keys = [weight.new_zeros(0, self._heads, 0, self._width) for _ in range(config.layers)]
        self._values = [weight.new_zeros(0, self._heads, 0, self._width) for _ in range(config.layers)]
        self._rotations = net.rotation(torch.arange(config.max_length, device=weight.device))
        self.token_bytes = 2 * config.layers * self._heads * self._width * weight.element_size()

    def reserve(self, slots: int, length: int) -> None:
        """Increase the capacity to a number of slots and of tokens per slot, plus GROWTH; existing content stays."""
        if slots <= self._slots and length <= self._length:
            return
        slots = max(self._slots, slots)
        if length > self._length:
            length = min(
                _round_up(max(length + GROWTH, self._length * 5 // 4), MULTIPLE), max(length, len(self._rotations))
            )
        length = max(length, self._length)
        for stored in (self._keys, self._values):
            for layer, old in enumerate(stored):
                new = old.new_zeros(slots + 1, self._heads, length, self._width)
                new[: self._slots, :, : self._length] = old[: self._slots]
                stored[layer] = new
        self._slots, self._length = slots, length

    # --- prefill ---------------------------------------------------------------------------------------------------

    def read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Prefill rows; return the logits [R, V] after each row. Copies run in order.

        Groups of about GROUP tokens keep the intermediate results in the processor's cache.
        """
        return self._logits(torch.cat([self._read(*group) for group in _groups(rows, copies)]))

    def _read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Compute the hidden states [R, D] before the final norm at the end of each row."""
        ids = list[int]()
        before = list[int]()
        slots = list[int]()
        positions = list[int]()
        parts, ends = list[_Part](), list[int]()
        for row in rows:
            first, length = len(ids), len(row.ids)
            ids += row.ids[row.start :]
            ends.append(len(ids))
            before += row.ids[row.start - 1 : -1] if row.start else [-1, *row.ids[:-1]]
            slots += [row.slot] * (length - row.start)
            positions += range(row.start, length)
            if parts and not row.start and parts[-1].rows and parts[-1].used == length:
                parts[-1] = parts[-1]._replace(stop=len(ids), rows=parts[-1].rows + 1)
            else:
                parts.append(
                    _Part(row.slot, first, len(ids), length, int(not row.start), self._mask(row.start, length))
                )
        index_N = self._flat_index(slots, positions)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self._store(layer, index_N, k, v)
            for copy in copies:
                for stored in (keys, values):
                    stored[copy.target, :, copy.start : copy.stop] = stored[copy.source, :, copy.start : copy.stop]
            outs = list[Tensor]()
            for slot, first, stop, used, rows, mask_TU in parts:
                if rows:
                    queries, new_keys, new_values = (
                        x[0, :, first:stop].unflatten(1, (rows, used)).transpose(0, 1) for x in (q, k, v)
                    )
                    out = F.scaled_dot_product_attention(
                        queries, new_keys, new_values, is_causal=True, enable_gqa=self._grouped
                    )
                    out = out.transpose(0, 1).flatten(1, 2)
                else:
                    row_keys, row_values = keys[slot, None, :, :used], values[slot, None, :, :used]
                    out = F.scaled_dot_product_attention(
                        q[:, :, first:stop], row_keys, row_values, attn_mask=mask_TU, enable_gqa=self._grouped
                    )[0]
                outs.append(out)
            return torch.cat(outs, 1)[None]

        images = [] if self._net.vision is None else [image for row in rows for image in row.images]
        x_ND = self._run(ids, before, positions, attend, images)
        return x_ND[torch.tensor(ends, device=x_ND.device) - 1]

    def _mask(self, start: int, stop: int) -> Tensor | None:
        """Make the attention mask [T, U], True for allowed positions; None for a whole row and for a last token."""
        if start in (0, stop - 1):
            return None
        position_T = torch.arange(start, stop, device=self._rotations.device)
        return torch.arange(stop, device=self._rotations.device) <= position_T[:, None]

    # --- decoding --------------------------------------------------------------------------------------------------

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Decode one token in each of the first S slots; return the logits [S, V].

        Position -1 skips a slot; the logits of the slot are undefined.
        """
        ids = [token for (token,) in tokens]
        index_N = self._flat_index([self._slots if p < 0 else slot for slot, p in enumerate(positions)], positions)
        blocks = _blocks(positions)
        masks = [self._score_bias(positions[first:stop], used) for first, stop, used in blocks]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = (x.view(-1, self._length, self._width) for x in self._store(layer, index_N, k, v))
            flat_q = q.transpose(1, 2).reshape(len(tokens) * self._heads, -1, self._width)  # [N * G, H / G, K]
            out = torch.empty_like(flat_q)
            for (first, stop, used), mask in zip(blocks, masks):
                part = slice(first * self._heads, stop * self._heads)
                scores = torch.baddbmm(mask, flat_q[part], keys[part, :used].transpose(1, 2), alpha=self._scale)
                torch.bmm(scores.softmax(-1), values[part, :used], out=out[part])
            return out.view(1, len(tokens), -1, self._width).transpose(1, 2)

        return self._logits(self._run(ids, before, positions, attend))

    def _score_bias(self, positions: Sequence[int], used: int) -> Tensor:
        """Make the attention bias [N * G, 1, U], 0 for allowed positions and -inf for others; [1, 1, 1] for no mask."""
        if min(positions) == used - 1:
            return self._rotations.new_zeros(1, 1, 1)
        position_N = torch.tensor(positions, device=self._rotations.device).clamp(min=0)
        future = torch.arange(used, device=position_N.device) > position_N.repeat_interleave(self._heads)[:, None, None]
        return self._rotations.new_zeros(future.shape).masked_fill_(future, -torch.inf)

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return the logits of `write` and of `read`."""
        return self.write(tokens, before, positions) if tokens else None, self.read(rows, copies) if rows else None

    # --- the network, token by token -------------------------------------------------------------------------------

    def _run(
        self,
        ids: Sequence[int],
        before: Sequence[int],
        positions: Sequence[int],
        attend: _Attend,
        images: Sequence[Image] = (),
    ) -> Tensor:
        """Compute the hidden states [N, D] before the final norm."""
        net = self._net
        ids_N, before_N, position_N = torch.tensor([ids, before, positions], device=self._rotations.device)
        if net.vision is not None and (images or max(before) >= FIRST_IMAGE_ID):
            x_1ND = net.embed_images(ids_N, before_N, images)[None]
        else:
            previous_ND = net.embed_before(before_N.clamp(min=0))
            x_1ND = (net.embed(ids_N) + torch.where((before_N < 0)[:, None], 0.0, previous_ND))[None]
        rotation_1NK = self._rotations[position_N.clamp(min=0)][None]
        for layer, block in enumerate(net.stack):
            x_1ND = block(x_1ND, rotation_1NK, partial(attend, layer))
        return x_1ND[0]

    def _logits(self, x_ND: Tensor) -> Tensor:
        return self._net.head(self._net.norm(x_ND))

    # --- storage ---------------------------------------------------------------------------------------------------

    def _flat_index(self, slots: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Compute the indices [N * G] of tokens in keys or values, viewed as rows of K numbers."""
        slot_N, position_N = torch.tensor([slots, positions], device=self._rotations.device)
        head_H = torch.arange(self._heads, device=slot_N.device)
        return ((slot_N[:, None] * self._heads + head_H) * self._length + position_N.clamp(min=0)[:, None]).flatten()

    def _store(self, layer: int, index_N: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write new keys and values [1, G, N, K]; return all keys and values of the layer."""
        for stored, new in ((self._keys[layer], k), (self._values[layer], v)):
            stored.view(-1, self._width).index_copy_(0, index_N, new.transpose(1, 2).reshape(-1, self._width))
        return self._keys[layer], self._values[layer]

    def take(self, slot: int, start: int, stop: int) -> list[Tensor]:
        """Copy the keys and values at positions [start, stop), [G, T, K] per layer: all keys, then all values."""
        return [stored[slot, :, start:stop].clone() for stored in (*self._keys, *self._values)]

    def put(self, slot: int, start: int, parts: Sequence[Tensor]) -> None:
        """Write keys and values that `take` returned."""
        for stored, part in zip((*self._keys, *self._values), parts, strict=True):
            stored[slot, :, start : start + part.shape[1]] = part


def _groups(rows: Sequence[Reading], copies: Sequence[Copying]) -> Iterator[tuple[list[Reading], list[Copying]]]:
    """Group rows in order, with about GROUP tokens each, and add the copies into the slots of a group.

    A copy into a slot without a row belongs to the group of its source slot.
    """
    group_of = dict[int, int]()
    tokens = GROUP
    groups = list[tuple[list[Reading], list[Copying]]]()
    for row in rows:
        if tokens >= GROUP:
            groups.append(([], []))
            tokens = 0
        groups[-1][0].append(row)
        group_of[row.slot] = len(groups) - 1
        tokens += len(row.ids) - row.start
    for copy in copies:
        group = group_of.setdefault(copy.target, group_of.get(copy.source, 0))
        groups[group][1].append(copy)
    yield from groups


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _blocks(positions: Sequence[int]) -> list[tuple[int, int, int]]:
    """Group neighbouring slots for attention: [first, stop) and the number of attended positions."""
    blocks: list[tuple[int, int, int]] = []
    for first in range(0, len(positions), ROWS):
        stop = min(first + ROWS, len(positions))
        used = max(max(positions[first:stop]), 0) + 1
        while blocks:
            start, middle, longest = blocks[-1]
            merged = max(longest, used) * (stop - start)
            if merged - longest * (middle - start) - used * (stop - middle) > SPLIT:
                break
            blocks.pop()
            first, used = start, max(longest, used)
        blocks.append((first, stop, used))
    return blocks
