"""Keys and values of a TinyNet, row by row in slots, and logits that do not depend on what else is computed.

A token's logits are the same whether it was read in a prompt, after a kept beginning, or sampled, and whatever ran
beside it, up to rounding: a processor rounds a product by its shape. To the bit they are the same for the same calls.

- Matrix products have a multiple of 8 rows, and the hidden layer is filled up with zeros to a multiple of 16.
- Attention is one product of a vector with a matrix for each token and head, over a number of positions rounded up to
  a multiple of 16, of which those that come later weigh exactly 0, and over enough of them that the product is not
  among the small ones for which torch takes another kernel.

Shapes: N tokens (a multiple of 8), S slots, C tokens a slot has room for, H heads, K width of a head, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from handaxe.networks import Copying, Reading

if TYPE_CHECKING:
    from handaxe.models.tiny import Block, TinyNet

__all__ = ["TinySlots"]

ROWS = 8
COLUMNS = 16
SMALL = 400
"""Matrix products of fewer multiplications go to another kernel of torch, which rounds differently."""
GROWTH = 64
TOGETHER = 128
"""Tokens of a row whose attention is computed over the same number of positions."""
GROUP = 256
"""Tokens that are read at a time, of whole rows."""
SPLIT = 800
"""Positions times rows whose attention costs about as much as calling the kernels once more."""

_Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


class TinySlots:
    """The cache; implements `networks.SlotCache`. One slot more than was reserved takes what is to be lost.

    Args:
        exact: False reads the tokens of a row in one product instead of each for itself: several times faster in the
            attention to a long history, and the same only up to float rounding.
    """

    multiple = ROWS
    several = False

    def __init__(self, net: TinyNet, *, exact: bool = True):
        self.exact = exact
        weight, config = net.embed.weight, net.config
        self._net, self._heads, self._width = net, config.heads, config.width // config.heads
        self._scale = self._width**-0.5
        self._filled: list[tuple[Tensor, Tensor]] = []
        self._filled_from: list[tuple[int, int]] = []
        self._least = _up(-(-SMALL // self._width), COLUMNS)
        self._slots = self._length = 0
        self._keys = [weight.new_zeros(0, self._heads, 0, self._width) for _ in range(config.layers)]
        self._values = [weight.new_zeros(0, self._heads, 0, self._width) for _ in range(config.layers)]
        turn_TK2 = net.turn(torch.arange(config.max_length, device=weight.device))
        self._turn = torch.cat([turn_TK2[..., 0], turn_TK2[..., 0], -turn_TK2[..., 1], turn_TK2[..., 1]], -1)
        self.token_bytes = 2 * config.layers * config.width * weight.element_size()

    def reserve(self, slots: int, length: int) -> None:
        """Make room for this many slots and tokens each, and keep what is there."""
        if slots <= self._slots and length <= self._length:
            return
        slots, length = max(self._slots, _up(slots, ROWS)), max(length, self._least)
        length = self._length if length <= self._length else _up(max(length, self._length * 5 // 4), GROWTH)
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
        last_RD = [self._read(*group) for group in _groups(rows, copies)]
        return self._head(torch.cat(last_RD))

    def _read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> Tensor:
        """Hidden states [R, D] before the last norm, at the end of each row."""
        ids: list[int] = []
        before: list[int] = []
        places: list[tuple[int, int]] = []
        parts: list[tuple[int, int, int, int]] = []  # slot, tokens [first, stop) of this group, position of the first
        ends: list[int] = []
        for row in rows:
            for start in range(row.start, len(row.ids), TOGETHER):
                first = len(ids) + start - row.start
                parts.append((row.slot, first, first + min(TOGETHER, len(row.ids) - start), start))
            ids += row.ids[row.start :]
            before += row.ids[row.start - 1 : -1] if row.start else [-1, *row.ids[:-1]]
            places += [(row.slot, position) for position in range(row.start, len(row.ids))]
            ends.append(len(ids) - 1)
        padding = -len(ids) % ROWS
        places += [(self._slots, 0)] * padding
        positions = [position for _, position in places]
        at_N = self._place([slot for slot, _ in places], positions)
        masks = [self._mask(range(start, start + stop - first)) for _, first, stop, start in parts]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self._lay(layer, at_N, k, v)
            for copy in copies:
                for stored in (self._keys[layer], self._values[layer]):
                    stored[copy.target, :, copy.start : copy.stop] = stored[copy.source, :, copy.start : copy.stop]
            q_HN1K = q.transpose(0, 1).contiguous()[:, :, None]
            out_HN1K = torch.zeros_like(q_HN1K)
            for (slot, first, stop, _), mask in zip(parts, masks):
                shape = (self._heads, stop - first, mask.shape[-1], self._width)
                keys, values = (
                    x[layer][slot, :, None, : shape[2]].expand(shape).unbind() for x in (self._keys, self._values)
                )
                queries, outs = (x[:, first:stop].unbind() for x in (q_HN1K, out_HN1K))
                if not self.exact:
                    keys_HTK, values_HTK = (x[layer][slot, :, : shape[2]] for x in (self._keys, self._values))
                    scores = torch.bmm(q_HN1K[:, first:stop, 0], keys_HTK.transpose(1, 2)).add_(mask[:, 0])
                    out_HN1K[:, first:stop, 0] = torch.bmm(scores.softmax(-1), values_HTK)
                    continue
                for query, key, value, out in zip(queries, keys, values, outs):
                    weights = torch.bmm(query, key.transpose(1, 2)).add_(mask).softmax(-1)
                    torch.bmm(weights, value, out=out)
            return out_HN1K[:, :, 0].transpose(0, 1)

        x_ND = self._run(ids + [0] * padding, before + [-1] * padding, positions, attend)
        return x_ND[torch.tensor(ends, device=x_ND.device)]

    def _mask(self, positions: range) -> Tensor:
        used = max(_up(positions.stop, COLUMNS), self._least)
        position_N = torch.arange(positions.start, positions.stop, device=self._turn.device)
        return _hidden(used, position_N, self._turn.dtype)[:, None]

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Logits [S, V] after one more token in each of the first S slots; a slot whose position is -1 stays as it is,
        its logits mean nothing."""
        padding = -len(tokens) % ROWS
        ids, before = [*(token for (token,) in tokens), *[0] * padding], [*before, *[-1] * padding]
        positions = [*positions, *[-1] * padding]
        slots = [self._slots if position < 0 else slot for slot, position in enumerate(positions)]
        blocks = _blocks(positions, self._least)
        positions = [max(position, 0) for position in positions]
        at_N = self._place(slots, positions)
        position_N = torch.tensor(positions, device=at_N.device)
        dtype = self._turn.dtype
        hidden = [_hidden(used, position_N[first:stop], dtype)[:, None] for first, stop, used in blocks]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self._lay(layer, at_N, k, v)
            keys, values = (x[layer].view(-1, self._length, self._width) for x in (self._keys, self._values))
            out = torch.empty_like(q)
            flat_q, flat_out = q.reshape(-1, 1, self._width), out.view(-1, 1, self._width)
            for (first, stop, used), mask in zip(blocks, hidden):
                part = slice(first * self._heads, stop * self._heads)
                scores = torch.bmm(flat_q[part], keys[part, :used].transpose(1, 2))
                weights = scores.view(stop - first, self._heads, used).add_(mask).softmax(-1)
                torch.bmm(weights.view(-1, 1, used), values[part, :used], out=flat_out[part])
            return out

        return self._head(self._run(ids, before, positions, attend))[: len(tokens)]

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
        self._fill()
        ids_N, before_N, position_N = torch.tensor([ids, before, positions], device=self._turn.device)
        known = net.embed_before(before_N.clamp(min=0))
        x_ND = net.embed(ids_N) + torch.where((before_N < 0)[:, None], 0.0, known)
        cos, sin = self._turn[position_N][:, None].chunk(2, -1)
        for layer, block in enumerate(net.stack):
            x_ND = self._block(layer, block, x_ND, (cos, sin), attend)
        return x_ND

    def _block(self, layer: int, block: Block, x_ND: Tensor, turn: tuple[Tensor, Tensor], attend: _Attend) -> Tensor:
        qkv = block.qkv(block.norm_1(x_ND)).view(len(x_ND), 3 * self._heads, self._width)
        turned = qkv[:, : 2 * self._heads]
        turned = turned * turn[0] + turned.roll(self._width // 2, -1) * turn[1]
        q, k = turned[:, : self._heads] * self._scale, turned[:, self._heads :]
        x_ND = x_ND + block.out(attend(layer, q, k, qkv[:, 2 * self._heads :]).flatten(1))
        gate_up, down = self._filled[layer]
        gate, up = F.linear(block.norm_2(x_ND), gate_up).chunk(2, -1)
        return x_ND + F.linear(F.silu(gate).mul_(up), down)

    def _fill(self) -> None:
        """The weights of the hidden layer with zeros added, made again when the weights have changed."""
        weights = [(block.gate_up.weight, block.down.weight) for block in self._net.stack]
        now = [(w.data_ptr(), 0 if w.is_inference() else w._version) for pair in weights for w in pair]
        if now != self._filled_from:
            missing = -weights[0][1].shape[1] % COLUMNS
            halves = [gate_up.unflatten(0, (2, -1)) for gate_up, _ in weights]
            filled = [F.pad(half, (0, 0, 0, missing)).flatten(0, 1) for half in halves]
            self._filled = [(gate_up, F.pad(down, (0, missing))) for gate_up, (_, down) in zip(filled, weights)]
            self._filled_from = now

    def _head(self, x_ND: Tensor) -> Tensor:
        rows = len(x_ND)
        return self._net.head(self._net.norm(F.pad(x_ND, (0, 0, 0, -rows % ROWS))))[:rows]

    # --- storage ---------------------------------------------------------------------------------------------------

    def _place(self, slots: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Indices [N * H] of the tokens in keys or values seen as rows of K numbers."""
        slot_N, position_N = torch.tensor([slots, positions], device=self._turn.device)
        head_H = torch.arange(self._heads, device=slot_N.device)
        return ((slot_N[:, None] * self._heads + head_H) * self._length + position_N[:, None]).flatten()

    def _lay(self, layer: int, at_N: Tensor, k: Tensor, v: Tensor) -> None:
        for stored, new in ((self._keys[layer], k), (self._values[layer], v)):
            stored.view(-1, self._width).index_copy_(0, at_N, new.reshape(-1, self._width))

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
    group_of, tokens, groups = dict[int, int](), GROUP, list[tuple[list[Reading], list[Copying]]]()
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


def _hidden(used: int, position_N: Tensor, dtype: torch.dtype) -> Tensor:
    """[N, used]: 0 where a token at `position_N` may look, -inf where it may not."""
    later = torch.arange(used, device=position_N.device) > position_N[:, None]
    return torch.zeros(later.shape, dtype=dtype, device=later.device).masked_fill_(later, -torch.inf)


def _blocks(positions: Sequence[int], least: int) -> list[tuple[int, int, int]]:
    """Neighbouring slots whose attention goes together: [first, stop) and over how many positions."""
    blocks: list[tuple[int, int, int]] = []
    for first in range(0, len(positions), ROWS):
        stop = first + ROWS
        used = max(_up(max(positions[first:stop]) + 1, COLUMNS), least)
        while blocks:
            begin, middle, longest = blocks[-1]
            together = max(longest, used) * (stop - begin)
            if together - longest * (middle - begin) - used * (stop - middle) > SPLIT:
                break
            blocks.pop()
            first, used = begin, max(longest, used)
        blocks.append((first, stop, used))
    return blocks
