"""Continuous batching: rows of a growing key-value cache, which requests join and leave between two tokens.

Shapes: S slots of the cache, V vocabulary.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

from handaxe.engines.draw import DrawRules, draw, rules
from handaxe.engines.modules import evaluating
from handaxe.engines.prefixes import Prefixes
from handaxe.engines.requests import check_request, completed
from handaxe.engines.rows import Admission, LiveRow, Slot, admit
from handaxe.errors import InputError
from handaxe.networks import Model, SlotCache
from handaxe.records import Sampling
from handaxe.slots import Completion, Partial, Sample

__all__ = ["SlotStream"]

SPARSE = 0.75
"""Share of live slots among those computed below which the last rows move into gaps before them."""


class SlotStream:
    """Sample from a model with a slot cache; implements `slots.Stream`.

    Each `poll` reads what is new of the requests that can get in, along with the last token of the rows that are in,
    all in one forward where the cache does that, and draws one token for every row that is in. The keys and values of a
    row are kept when it ends, in its slot until another row takes it, and in a store of `kept_tokens`: a request that
    begins with ids that were read or sampled before, in an earlier turn of its trajectory or by a sibling, reads only
    the rest (at least its last id). When the version or the weights have changed, all of that is dropped, and the rows
    at work are read again and go on.

    Args:
        model: sampled from with dropout off.
        cache: an empty one of this model.
        version: the engine's version now.
        max_rows: rows at work at a time; the others wait for a slot.
        kept_tokens: most tokens in the store; each takes `cache.token_bytes`.

    Attributes:
        read_tokens: tokens read so far to begin or take up rows; those sampled are not counted.
        reused_tokens: tokens of requests that did not have to be read.
    """

    def __init__(self, model: Model, cache: SlotCache, *, version: Callable[[], int], max_rows: int, kept_tokens: int):
        self._model, self._cache, self._version, self._max_rows = model, cache, version, max_rows
        self._device = next(model.module.parameters()).device
        self._parameters = [p for p in model.module.parameters() if not p.is_inference()]
        self._prefixes = Prefixes(kept_tokens)
        self._waiting: deque[LiveRow] = deque()
        self._slots: list[Slot] = []
        self._rules: DrawRules | None = None
        self._weights = self._mark()
        self._tickets = self._clock = 0
        self._closed = False
        self.read_tokens = self.reused_tokens = 0

    @property
    def kept_tokens(self) -> int:
        """Tokens in the store now."""
        return self._prefixes.tokens

    @property
    def evicted(self) -> int:
        """Tokens that the store has forgotten for want of room."""
        return self._prefixes.evicted

    # --- requests come and go --------------------------------------------------------------------------------------

    def submit(self, request: Sample) -> int:
        """Add a request; its ticket. Raises InputError when it cannot be sampled, and after `close`."""
        if self._closed:
            raise InputError("the stream is closed; make a new one with engine.stream()")
        check_request(self._tickets, request, self._model)
        self._waiting.append(LiveRow(self._tickets, request, self._model.max_length))
        self._tickets += 1
        return self._tickets - 1

    def interrupt(self, ticket: int) -> Partial:
        """Take a request out and hand over what is sampled of its turn. Raises InputError when it is not in."""
        for row in self._waiting:
            if row.ticket == ticket:
                self._waiting.remove(row)
                return row.sampled()
        for index, slot in enumerate(self._slots):
            if slot.row is not None and slot.row.ticket == ticket:
                row = slot.row
                with torch.inference_mode():
                    self._leave(index)
                return row.sampled()
        raise InputError(
            f"there is no request {ticket} to interrupt: it was never submitted, has ended or is out already"
        )

    def __len__(self) -> int:
        return len(self._waiting) + sum(slot.row is not None for slot in self._slots)

    def close(self) -> None:
        """Forget every request and release the memory."""
        self._waiting.clear()
        self._slots.clear()
        self._prefixes.clear()
        if not self._closed:
            del self._cache
        self._closed = True

    # --- one token more --------------------------------------------------------------------------------------------

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """One more token for every row that is in; (ticket, completion) of those that ended, in order of ticket. It
        samples here and now, so there is nothing to `wait` for.

        Raises:
            TrainingError: when the model's logits are not finite.
        """
        del wait
        if not len(self):
            return []
        with torch.inference_mode(), evaluating(self._model.module):
            self._follow_weights()
            tokens, joining = self._last_tokens(), self._let_in()
            written_SV, read_RV = self._cache.step(*tokens, joining.readings, joining.copies)
            return self._draw(self._together(written_SV, read_RV, joining))

    def _mark(self) -> tuple[int, int]:
        """Changes when the engine steps or loads, and when anybody writes into a parameter."""
        return self._version(), sum(parameter._version for parameter in self._parameters)

    def _follow_weights(self) -> None:
        if (now := self._mark()) == self._weights:
            return
        self._weights = now
        self._prefixes.clear()
        rows = sorted((slot.row for slot in self._slots if slot.row is not None), key=lambda row: row.ticket)
        self._waiting.extendleft(reversed(rows))
        self._slots = [Slot() for _ in self._slots]

    def _last_tokens(self) -> tuple[list[int], list[int], list[int]]:
        """What `SlotCache.write` takes: the last token of every row at work, the one before it, and its place."""
        self._move_together()
        live = [index for index, slot in enumerate(self._slots) if slot.row is not None]
        ids, before, positions = list[int](), list[int](), list[int]()
        if not live:
            return ids, before, positions
        span = self._slots[: live[-1] + 1]
        self._reserve(max(len(slot.row.ids) for slot in span if slot.row is not None))
        for slot in span:
            row = slot.row
            ids.append(0 if row is None else row.ids[-1])
            before.append(-1 if row is None else row.ids[-2])
            positions.append(-1 if row is None else len(slot.ids))
            if row is not None:
                slot.ids.append(row.ids[-1])
        return ids, before, positions

    def _let_in(self) -> Admission:
        """Put waiting requests into free slots; what has to be read for them."""
        live = sum(slot.row is not None for slot in self._slots)
        joining = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._max_rows - live))]
        if joining:
            missing = live + len(joining) - len(self._slots)
            self._slots += [Slot() for _ in range(missing)]
            self._reserve(max(len(row.ids) for row in joining))
        free = [index for index, slot in enumerate(self._slots) if slot.row is None]
        plan = admit(joining, self._slots, free, self._prefixes)
        for index, found in plan.puts:
            for start, parts in found.stretches:
                self._cache.put(index, start, parts)
        self.read_tokens += sum(len(row.ids) - row.start for row in plan.readings)
        self.reused_tokens += plan.reused
        return plan

    def _together(self, written_SV: Tensor | None, read_RV: Tensor | None, joined: Admission) -> Tensor:
        """The logits [S, V] of every row at work."""
        if read_RV is None:
            assert written_SV is not None
            return written_SV
        for index, _ in joined.logits:
            self._keep(index)
        out_SV = read_RV.new_zeros(len(self._slots), read_RV.shape[1])
        if written_SV is not None:
            known = min(len(written_SV), len(out_SV))
            out_SV[:known] = written_SV[:known]
        slots_R, indices_R = torch.tensor(joined.logits, device=self._device).T
        out_SV[slots_R] = read_RV[indices_R]
        self._set_rules()
        return out_SV

    def _draw(self, logits_SV: Tensor) -> list[tuple[int, Completion]]:
        assert self._rules is not None
        slots = self._slots[: len(logits_SV)]
        uniforms = [0.0 if slot.row is None else slot.row.uniforms[slot.row.drawn] for slot in slots]
        uniform_S = torch.tensor(uniforms, dtype=torch.float64, device=self._device)
        drawn = draw(logits_SV[: len(slots)], uniform_S, self._rules.rows(slice(len(slots))))
        parts = (drawn.ids_B.tolist(), drawn.logp_B.tolist(), drawn.behaviour_logp_B.tolist())
        version, done = self._weights[0], []
        for index, (slot, token, logp, behaviour_logp) in enumerate(zip(slots, *parts)):
            row = slot.row
            if row is not None and row.add(token, logp, behaviour_logp, version):
                self._leave(index)
                done.append(
                    (row.ticket, completed(row.ticket, row.request, row.sampled(), time.perf_counter() - row.since))
                )
        return sorted(done, key=lambda pair: pair[0])

    # --- slots -----------------------------------------------------------------------------------------------------

    def _set_rules(self) -> None:
        samplings = [Sampling() if slot.row is None else slot.row.request.sampling for slot in self._slots]
        self._rules = rules(samplings, self._device)

    def _leave(self, index: int) -> None:
        self._keep(index)
        self._clock += 1
        self._slots[index].row, self._slots[index].used = None, self._clock

    def _keep(self, index: int) -> None:
        """Put into the store what it lacks of a slot's keys and values."""
        ids = self._slots[index].ids
        start = self._prefixes.find(ids).length
        if start < min(len(ids), self._prefixes.limit):
            self._prefixes.add(ids, start, self._cache.take(index, start, len(ids)))

    def _reserve(self, length: int) -> None:
        multiple = self._cache.multiple
        self._cache.reserve(-(-len(self._slots) // multiple) * multiple, length)

    def _move_together(self) -> None:
        """When few of the slots that are computed are at work, move the last rows into gaps before them."""
        live = [index for index, slot in enumerate(self._slots) if slot.row is not None]
        multiple = self._cache.multiple
        needed = -(-len(live) // multiple) * multiple
        if not live or needed >= SPARSE * (-(-(live[-1] + 1) // multiple) * multiple):
            return
        gaps = [index for index, slot in enumerate(self._slots[:needed]) if slot.row is None]
        for source, target in zip([index for index in live if index >= needed], gaps):
            old = self._slots[source]
            self._cache.put(target, 0, self._cache.take(source, 0, len(old.ids)))
            self._slots[target], self._slots[source] = old, Slot()
        self._set_rules()
