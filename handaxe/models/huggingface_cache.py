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

from handaxe.networks import Copying, Reading

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
        owner, plan = self._owner, self._owner.plan
        assert plan is not None
        if not self.stored:
            self.stored = [x.new_zeros(owner.count + 1, x.shape[1], owner.length, x.shape[3]) for x in (keys, values)]
        for stored, new in zip(self.stored, (keys, values)):
            row_N, column_N = plan.tokens
            slot_N, position_N = plan.places
            stored[slot_N, :, position_N] = new[row_N, :, column_N]
            for copy in plan.copies:
                stored[copy.target, :, copy.start : copy.stop] = stored[copy.source, :, copy.start : copy.stop]
        first, second = (stored[plan.slots, :, : plan.used] for stored in self.stored)
        return first, second

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
    """The cache; implements `networks.SlotCache`. The model must pass `fits`."""

    multiple, exact = 1, False

    def __init__(self, model: Trunk, max_length: int):
        from transformers import Cache

        self._model, self._max_length = model, max_length
        self._layers: list[_Layer] = []
        self._cache: Any = Cache(layer_class_to_replicate=self._layer)  # type: ignore[arg-type]
        self._weight = model.module.get_input_embeddings().weight
        self.count = self.length = 0
        self.plan: _Plan | None = None
        config = model.module.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
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

    def write(self, ids: Sequence[int], before: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Logits [S, V] after one more token in each of the first S slots; one whose position is -1 stays as it is."""
        del before
        device, index_S = self._weight.device, torch.arange(len(ids), device=self._weight.device)
        position_S = torch.tensor(positions, device=device)
        slot_S = torch.where(position_S < 0, self.count, index_S)
        position_S = position_S.clamp(min=0)
        plan = _Plan((index_S, index_S * 0), (slot_S, position_S), (), slice(len(ids)), max(positions) + 1)
        hidden_S1D = self._run(torch.tensor(ids, device=device)[:, None], position_S[:, None], plan)
        return self._model.head(hidden_S1D[:, 0])

    def _run(self, ids_RT: Tensor, position_RT: Tensor, plan: _Plan) -> Tensor:
        later = torch.arange(plan.used, device=position_RT.device) > position_RT[:, None, :, None]
        attend = torch.zeros(later.shape, dtype=self._weight.dtype, device=later.device)
        attend.masked_fill_(later, torch.finfo(attend.dtype).min)
        self.plan = plan
        try:
            return self._model.hidden_cached(ids_RT, position_RT, attend, self._cache)
        finally:
            self.plan = None

    def take(self, slot: int, start: int, stop: int) -> list[Tensor]:
        """A copy of the keys and values at [start, stop), [H, T, K] for each layer and kind."""
        return [stored[slot, :, start:stop].clone() for layer in self._layers for stored in layer.stored]

    def put(self, slot: int, start: int, parts: Sequence[Tensor]) -> None:
        """Lay down what `take` gave."""
        every = [stored for layer in self._layers for stored in layer.stored]
        for stored, part in zip(every, parts, strict=True):
            stored[slot, :, start : start + part.shape[1]] = part


@torch.no_grad()
def fits(model: Trunk, max_length: int, rounding: float) -> bool:
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
        cache = PretrainedSlots(model, max_length)
        cache.reserve(2, len(ids))
        cache.read([Reading(0, ids[:3], 0), Reading(1, ids[:1], 0)], [])
        read_RV = cache.read([Reading(1, ids[:-1], 1)], [])
        written_SV = cache.write([0, ids[-1]], [0, ids[-2]], [-1, len(ids) - 1])
    except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, AttributeError, AssertionError):
        return False
    ids_1T = torch.tensor([ids], device=read_RV.device)
    want_TV = model.head(model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool)))[0]
    gap = torch.maximum((read_RV[0] - want_TV[-2]).abs().max(), (written_SV[1] - want_TV[-1]).abs().max())
    return bool(gap <= rounding * want_TV.abs().max())
