"""Continuous batching: rows of a growing key-value cache, which requests join and leave between two tokens.

Shapes: S slots of the cache, V vocabulary.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice

import torch
from torch import Tensor

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model, SlotCache
from handaxe.core.records import Sampling
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.drafts import Drafts
from handaxe.engines.local.modules import evaluating
from handaxe.engines.local.prefix_cache import Prefixes
from handaxe.engines.local.requests import check_request, completed
from handaxe.engines.local.rows import Admission, LiveRow, RowRequest, Slot, admit, asked
from handaxe.engines.local.token_sampling import DrawRules, draw, rules

__all__ = ["SlotStream"]

DRAFTED = 2**25
"""Most logits of all drafts of a forward: 134 MB in float32, besides what drawing makes of them."""
SPARSE = 0.75
"""Share of live slots among those computed below which the last rows move into gaps before them."""


class SlotStream:
    """Sample from a model with a slot cache; implements `slots.Stream`.

    Each `poll` reads what is new of the requests that can get in, along with the last token of the rows that are in,
    all in one forward where the cache does that, and draws one token for every row that is in, and one more for each
    token of a draft (`engines.local.drafts`) that was read with the last one and turned out right. The keys and values
    of a row are kept when it ends, in its slot until another row takes it, and in a store of `kept_tokens`: a request
    that begins with ids that were read or sampled before, in an earlier turn of its trajectory or by a sibling, reads
    only the rest (at least its last id). When the version or the weights have changed, all of that is dropped, and the rows
    at work are read again and go on.

    Args:
        model: sampled from with dropout off.
        cache: an empty one of this model.
        version: the engine's version now.
        max_rows: rows at work at a time; the others wait for a slot.
        kept_tokens: most tokens in the store; each takes `cache.token_bytes`.
        draft_tokens: most tokens of a draft, where the cache takes several at a time.

    Attributes:
        read_tokens: tokens read so far to begin or take up rows; those sampled are not counted.
        reused_tokens: tokens of requests that did not have to be read.
        drafted_tokens: tokens of drafts that were read.
        accepted_tokens: those of them that were drawn.
    """

    def __init__(
        self,
        model: Model,
        cache: SlotCache,
        *,
        version: Callable[[], int],
        max_rows: int,
        kept_tokens: int,
        draft_tokens: int = 0,
    ):
        self._model = model
        self._cache = cache
        self._version = version
        self._max_rows = max_rows
        self._device = next(model.module.parameters()).device
        self._parameters = [p for p in model.module.parameters() if not p.is_inference()]
        self._prefixes = Prefixes(kept_tokens)
        self._drafts = Drafts(draft_tokens if cache.several else 0)
        self._waiting: deque[LiveRow] = deque()
        self._slots: list[Slot] = []
        self._rules: DrawRules | None = None
        self._weights = self._mark()
        self._tickets = self._clock = 0
        self._closed = False
        self.read_tokens = self.reused_tokens = self.drafted_tokens = self.accepted_tokens = 0

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

    # --- what comes next ---------------------------------------------------------------------------------------------

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """One token or more for every row that is in; (ticket, completion) of those that ended, in order of ticket.
        It samples here and now, so there is nothing to `wait` for.

        Raises:
            TrainingError: when the model's logits are not finite.
        """
        del wait
        if not len(self):
            return []
        with torch.inference_mode(), evaluating(self._model.module):
            self._follow_weights()
            ids, before, positions = self._last_tokens()
            writing = [slot.row for slot in self._slots[: len(ids)]]
            joining = self._let_in()
            parts = self._cache.step(ids, before, positions, joining.readings, joining.copies)
            for index, _ in joining.logits:
                self._keep(index)
            if joining.logits:
                self._set_rules()
            there = [part for part in parts if part is not None]
            logits_NV = torch.cat(there) if len(there) > 1 else there[0]
            return self._draw(logits_NV, asked(ids, writing, self._slots, joining.logits))

    def _mark(self) -> tuple[int, int]:
        """Changes when the engine steps or loads, and when a parameter is written into."""
        return self._version(), sum(parameter._version for parameter in self._parameters)

    def _follow_weights(self) -> None:
        if (now := self._mark()) == self._weights:
            return
        self._weights = now
        self._prefixes.clear()
        rows = sorted((slot.row for slot in self._slots if slot.row is not None), key=lambda row: row.ticket)
        self._waiting.extendleft(reversed(rows))
        self._slots = [Slot() for _ in self._slots]

    def _last_tokens(self) -> tuple[list[list[int]], list[int], list[int]]:
        """What `SlotCache.write` takes: the last token of every row at work and a draft of what follows, the one before
        them, and their place."""
        self._move_together()
        live = [index for index, slot in enumerate(self._slots) if slot.row is not None]
        ids = list[list[int]]()
        before = list[int]()
        positions = list[int]()
        if not live:
            return ids, before, positions
        most = DRAFTED // (self._model.vocab_size * len(live))
        for slot in self._slots[: live[-1] + 1]:
            row = slot.row
            draft = [] if row is None else self._drafts.draft(row.ids, min(most, len(row.uniforms) - row.drawn - 1))
            ids.append([0] if row is None else [row.ids[-1], *draft])
            before.append(-1 if row is None else row.ids[-2])
            positions.append(-1 if row is None else len(slot.ids))
            if row is not None:
                slot.ids.append(row.ids[-1])
                self.drafted_tokens += len(draft)
        self._reserve(max(position + len(each) for position, each in zip(positions, ids)))
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

    def _draw(self, logits_NV: Tensor, rows: Sequence[RowRequest]) -> list[tuple[int, Completion]]:
        """Every row's next token, and those after it as long as its draft was right; the rows that ended."""
        assert self._rules is not None
        places = [(one.slot, one.first + k) for one in rows for k in range(len(one.draft) + 1)]
        uniforms = [one.row.uniforms[one.row.drawn + k] for one in rows for k in range(len(one.draft) + 1)]
        slot_M, place_M = torch.tensor(places, device=self._device).T
        uniform_M = torch.tensor(uniforms, dtype=torch.float64, device=self._device)
        drawn = draw(logits_NV[place_M], uniform_M, self._rules.rows(slot_M))
        tokens = zip(drawn.ids_B.tolist(), drawn.logp_B.tolist(), drawn.behaviour_logp_B.tolist())
        version, done = self._weights[0], list[tuple[int, Completion]]()
        for slot, row, _, draft in rows:
            known = len(row.ids)
            if draft:
                ended = row.follow(draft, list(islice(tokens, len(draft) + 1)), version)
                self._slots[slot].ids += row.ids[known:-1]
                self.accepted_tokens += len(row.ids) - known - 1
            else:
                ended = row.add(*next(tokens), version)
            self._drafts.learn(row.ids, known)
            if ended:
                self._leave(slot)
                seconds = time.perf_counter() - row.since
                done.append((row.ticket, completed(row.ticket, row.request, row.sampled(), seconds)))
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
        self._cache.reserve(len(self._slots), length)

    def _move_together(self) -> None:
        """When few of the slots that are computed are at work, move the last rows into gaps before them."""
        live = [index for index, slot in enumerate(self._slots) if slot.row is not None]
        if not live or len(live) >= SPARSE * (live[-1] + 1):
            return
        gaps = [index for index, slot in enumerate(self._slots[: len(live)]) if slot.row is None]
        for source, target in zip([index for index in live if index >= len(live)], gaps):
            old = self._slots[source]
            self._cache.put(target, 0, self._cache.take(source, 0, len(old.ids)))
            self._slots[target], self._slots[source] = old, Slot()
        self._set_rules()
