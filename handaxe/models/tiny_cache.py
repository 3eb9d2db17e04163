"""Keys and values of a TinyNet, row by row in slots: each written at its row's own positions.

A token's logits are the same whether it was read in a prompt, after a kept beginning, or sampled, and whatever ran
beside it, up to rounding: a processor rounds a product by its shape. To the bit they are the same for the same calls.

Shapes: N tokens, S slots, C tokens a slot has room for, U positions attended to, H heads, K width of a head, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from handaxe.core.model_api import Copying, Reading

if TYPE_CHECKING:
    from handaxe.models.tiny import TinyNet

__all__ = ["TinySlots"]

GROWTH = 64
MULTIPLE = 16
GROUP = 1024
"""Tokens that are read at a time, of whole rows."""
ROWS = 8
"""Slots among which no difference of lengths is looked at."""
SPLIT = 800
"""Positions times rows whose attention costs about as much as calling the kernels once more."""

_Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries, keys, values) of new tokens, each [1, H, N, K] -> [1, H, N, K]."""


class _Part(NamedTuple):
    """The new tokens [first, stop) of a row that is read, which of all its positions each may look at, and in which
    slot these are; or of `rows` rows of one length that are read from their beginnings."""

    slot: int
    first: int
    stop: int
    used: int
    rows: int
    mask_TU: Tensor | None


class TinySlots:
    """The cache; implements `networks.SlotCache`. One slot more than was reserved takes what is to be lost."""

    several = False

    def __init__(self, net: TinyNet):
        weight, config = net.embed.weight, net.config
        self._net = net
        self._heads = config.heads
        self._width = config.width // config.heads
        self._scale = self._width**-0.5
        self._slots = self._length = 0
        self._keys = [weight.new_zeros(0, self._heads, 0, self._width) for _ in range(config.layers)]
        self._values = [weight.new_zeros(0, self._heads, 0, self._width) for _ in range(config.layers)]
        self._turn = net.turn(torch.arange(config.max_length, device=weight.device))
        self.token_bytes = 2 * config.layers * config.width * weight.element_size()

    def reserve(self, slots: int, length: int) -> None:
        """Make room for this many slots and tokens each, and for GROWTH tokens more; keep what is there."""
        if slots <= self._slots and length <= self._length:
            return
        slots = max(self._slots, slots)
        if length > self._length:
            length = min(_up(max(length + GROWTH, self._length * 5 // 4), MULTIPLE), max(length, len(self._turn)))
        length = max(length, self._length)
        for stored in (self._keys, self._values):
            for layer, old in enumerate(stored):
                new = old.new_zeros(slots + 1, self._heads, length, self._width)
                new[: self._slots, :, : self._length] = old[: self._slots]
                stored[layer] = new
        self._slots, self._length = slots, length

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Logits [R, V] after each row. Some hundred tokens go together, since what is computed of them then stays in
        the processor's cache; the copies are carried out in their order."""
        return self._logits(torch.cat([self._read(*group) for group in _groups(rows, copies)]))

    def _read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Hidden states [R, D] before the last norm, at the end of each row."""
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
        at_N = self._place(slots, positions)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self._lay(layer, at_N, k, v)
            for copy in copies:
                for stored in (keys, values):
                    stored[copy.target, :, copy.start : copy.stop] = stored[copy.source, :, copy.start : copy.stop]
            outs = list[Tensor]()
            for slot, first, stop, used, rows, mask_TU in parts:
                if rows:
                    queries, fresh, new = (
                        x[0, :, first:stop].unflatten(1, (rows, used)).transpose(0, 1) for x in (q, k, v)
                    )
                    out = F.scaled_dot_product_attention(queries, fresh, new, is_causal=True)
                    out = out.transpose(0, 1).flatten(1, 2)
                else:
                    old, kept = keys[slot, None, :, :used], values[slot, None, :, :used]
                    out = F.scaled_dot_product_attention(q[:, :, first:stop], old, kept, attn_mask=mask_TU)[0]
                outs.append(out)
            return torch.cat(outs, 1)[None]

        x_ND = self._run(ids, before, positions, attend)
        return x_ND[torch.tensor(ends, device=x_ND.device) - 1]

    def _mask(self, start: int, stop: int) -> Tensor | None:
        """[T, U], True where a token may look; None for a whole row and for a last token."""
        if start in (0, stop - 1):
            return None
        position_T = torch.arange(start, stop, device=self._turn.device)
        return torch.arange(stop, device=self._turn.device) <= position_T[:, None]

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Logits [S, V] after one more token in each of the first S slots; a slot whose position is -1 stays as it is,
        its logits mean nothing."""
        ids = [token for (token,) in tokens]
        at_N = self._place([self._slots if p < 0 else slot for slot, p in enumerate(positions)], positions)
        blocks = _blocks(positions)
        masks = [self._later(positions[first:stop], used) for first, stop, used in blocks]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = (x.view(-1, self._length, self._width) for x in self._lay(layer, at_N, k, v))
            flat_q = q.transpose(1, 2).reshape(-1, 1, self._width)
            out = torch.empty_like(flat_q)
            for (first, stop, used), mask in zip(blocks, masks):
                part = slice(first * self._heads, stop * self._heads)
                scores = torch.baddbmm(mask, flat_q[part], keys[part, :used].transpose(1, 2), alpha=self._scale)
                torch.bmm(scores.softmax(-1), values[part, :used], out=out[part])
            return out.view(1, -1, self._heads, self._width).transpose(1, 2)

        return self._logits(self._run(ids, before, positions, attend))

    def _later(self, positions: Sequence[int], used: int) -> Tensor:
        """[N * H, 1, U]: 0 where a token may look, -inf where it may not; one 0 where all may look everywhere."""
        if min(positions) == used - 1:
            return self._turn.new_zeros(1, 1, 1)
        position_N = torch.tensor(positions, device=self._turn.device).clamp(min=0)
        later = torch.arange(used, device=position_N.device) > position_N.repeat_interleave(self._heads)[:, None, None]
        return self._turn.new_zeros(later.shape).masked_fill_(later, -torch.inf)

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> tuple[Tensor | None, Tensor | None]:
        """What `write` gives for the first three and `read` for the others, one after the other."""
        return self.write(tokens, before, positions) if tokens else None, self.read(rows, copies) if rows else None

    # --- the network, token by token -------------------------------------------------------------------------------

    def _run(self, ids: Sequence[int], before: Sequence[int], positions: Sequence[int], attend: _Attend) -> Tensor:
        """Hidden states [N, D] before the last norm."""
        net = self._net
        ids_N, before_N, position_N = torch.tensor([ids, before, positions], device=self._turn.device)
        known = net.embed_before(before_N.clamp(min=0))
        x_1ND = (net.embed(ids_N) + torch.where((before_N < 0)[:, None], 0.0, known))[None]
        turn_1NK = self._turn[position_N.clamp(min=0)][None]
        for layer, block in enumerate(net.stack):
            x_1ND = block(x_1ND, turn_1NK, partial(attend, layer))
        return x_1ND[0]

    def _logits(self, x_ND: Tensor) -> Tensor:
        return self._net.head(self._net.norm(x_ND))

    # --- storage ---------------------------------------------------------------------------------------------------

    def _place(self, slots: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Indices [N * H] of the tokens in keys or values seen as rows of K numbers."""
        slot_N, position_N = torch.tensor([slots, positions], device=self._turn.device)
        head_H = torch.arange(self._heads, device=slot_N.device)
        return ((slot_N[:, None] * self._heads + head_H) * self._length + position_N.clamp(min=0)[:, None]).flatten()

    def _lay(self, layer: int, at_N: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put new keys and values [1, H, N, K] in place; all keys and all values of the layer."""
        for stored, new in ((self._keys[layer], k), (self._values[layer], v)):
            stored.view(-1, self._width).index_copy_(0, at_N, new.transpose(1, 2).reshape(-1, self._width))
        return self._keys[layer], self._values[layer]

    def take(self, slot: int, start: int, stop: int) -> list[Tensor]:
        """A copy of the keys and values at [start, stop), [H, T, K] for each layer."""
        return [stored[slot, :, start:stop].clone() for stored in (*self._keys, *self._values)]

    def put(self, slot: int, start: int, parts: Sequence[Tensor]) -> None:
        """Lay down what `take` gave."""
        for stored, part in zip((*self._keys, *self._values), parts, strict=True):
            stored[slot, :, start : start + part.shape[1]] = part


def _groups(rows: Sequence[Reading], copies: Sequence[Copying]) -> Iterator[tuple[list[Reading], list[Copying]]]:
    """Rows in their order, GROUP tokens together or a few more, each with the copies into its slots. A slot that is
    only copied into goes with the one that it is copied from."""
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


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _blocks(positions: Sequence[int]) -> list[tuple[int, int, int]]:
    """Neighbouring slots whose attention goes together: [first, stop) and over how many positions."""
    blocks: list[tuple[int, int, int]] = []
    for first in range(0, len(positions), ROWS):
        stop = min(first + ROWS, len(positions))
        used = max(max(positions[first:stop]), 0) + 1
        while blocks:
            begin, middle, longest = blocks[-1]
            together = max(longest, used) * (stop - begin)
            if together - longest * (middle - begin) - used * (stop - middle) > SPLIT:
                break
            blocks.pop()
            first, used = begin, max(longest, used)
        blocks.append((first, stop, used))
    return blocks
