"""Continuous batching: requests join and leave the rows of a KV cache between two tokens.

Shapes: S slots of the cache, V vocabulary.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice

import torch
from torch import Tensor

from handaxe.core.errors import InputError, SamplingError
from handaxe.core.model_api import Model, SlotCache, VisionModel
from handaxe.core.records import Sampling
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.chunked_prefill import read_long_rows
from handaxe.engines.local.image_keys import ImageKeys
from handaxe.engines.local.modules import eval_mode
from handaxe.engines.local.ngram_drafts import NgramDrafts
from handaxe.engines.local.prefix_cache import PrefixCache
from handaxe.engines.local.sample_requests import check_request, make_completion
from handaxe.engines.local.slot_admission import Admission, LogitRequest, RunningRow, Slot, admit, logit_requests
from handaxe.engines.local.token_sampling import DrawRules, draw, draw_rules, most_likely

__all__ = ["SlotStream"]

MAX_DRAFT_LOGITS = 2**25
"""Most logits of all drafts of one forward pass: 134 MB in float32, plus the temporary tensors of sampling."""
MIN_OCCUPANCY = 0.75
"""Share of occupied slots among the computed slots below which the last rows move into free slots."""


class SlotStream:
    """Stream over a model with a slot cache; implements `core.protocols.Stream`.

    Each `poll` runs one forward pass where the cache supports it: prefill of the admitted requests, plus the last token
    of every running row and its draft (`engines.local.ngram_drafts`). `poll` samples one token a running row, plus one
    token for each accepted draft token.

    Keys and values of an ended row stay in its slot until another row takes the slot, and in the prefix cache
    (`engines.local.prefix_cache`). A request with a known prefix, from an earlier turn of the trajectory or from a
    sibling, reads only the remaining ids (at least the last id). A change of version or weights drops all cached keys
    and values; running rows are prefilled again and continue.

    Args:
        model: sampled with dropout off.
        cache: empty slot cache of this model.
        version: returns the engine's current version.
        max_rows: rows running at a time; further requests wait for a slot.
        prefix_cache_tokens: capacity of the prefix cache in tokens; a token takes `cache.token_bytes`.
        draft_tokens: longest draft, in tokens; applies to a cache that takes several tokens a step.
        prefill_chunk: most tokens of a row read in one forward pass (`engines.local.chunked_prefill`).
        image_keys: images of all streams of the engine.

    Attributes:
        read_tokens: tokens prefilled so far; sampled tokens are not counted.
        reused_tokens: prompt tokens found in the cache and not read.
        drafted_tokens: draft tokens read.
        accepted_tokens: draft tokens sampled.
    """

    def __init__(
        self,
        model: Model,
        cache: SlotCache,
        *,
        version: Callable[[], int],
        max_rows: int,
        prefix_cache_tokens: int,
        draft_tokens: int = 0,
        prefill_chunk: int = 2048,
        image_keys: ImageKeys | None = None,
    ):
        self._model = model
        self._whole_images = isinstance(model, VisionModel) and model.whole_images
        self._image_keys = ImageKeys() if image_keys is None else image_keys
        self._cache = cache
        self._version = version
        self._max_rows, self._prefill_chunk = max_rows, prefill_chunk
        self._device = next(model.module.parameters()).device
        self._parameters = [p for p in model.module.parameters() if not p.is_inference()]
        self._prefix_cache = PrefixCache(prefix_cache_tokens)
        self._drafts = NgramDrafts(draft_tokens if cache.several else 0)
        self._waiting: deque[RunningRow] = deque()
        self._held: list[tuple[int, Completion]] = []  # completions of a poll in which another request failed
        self._failures: deque[SamplingError] = deque()
        self._slots: list[Slot] = []
        self._rules: DrawRules | None = None
        self._weights = self._weights_stamp()
        self._tickets = self._clock = 0
        self._closed = False
        self.read_tokens = self.reused_tokens = self.drafted_tokens = self.accepted_tokens = 0

    @property
    def cached_tokens(self) -> int:
        """Tokens in the prefix cache."""
        return self._prefix_cache.tokens

    @property
    def evicted_tokens(self) -> int:
        """Tokens evicted from the prefix cache for lack of room."""
        return self._prefix_cache.evicted

    # --- requests --------------------------------------------------------------------------------------------------

    def submit(self, request: Sample) -> int:
        """Add a request and return the ticket. Raises InputError for invalid requests, and after `close`."""
        if self._closed:
            raise InputError("the stream is closed; make a new one with engine.stream()")
        check_request(self._tickets, request, self._model)
        self._image_keys.add(request.images)
        self._waiting.append(RunningRow(self._tickets, request, self._model.max_length))
        self._tickets += 1
        return self._tickets - 1

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request and return the sampled part of the turn. Raises InputError for an unknown ticket."""
        for row in self._waiting:
            if row.ticket == ticket:
                self._waiting.remove(row)
                return row.partial_turn()
        for index, slot in enumerate(self._slots):
            if slot.row is not None and slot.row.ticket == ticket:
                row = slot.row
                with torch.inference_mode():
                    self._leave(index)
                return row.partial_turn()
        raise InputError(
            f"there is no request {ticket} to interrupt: it was never submitted, has ended or was interrupted"
        )

    def __len__(self) -> int:
        running = sum(slot.row is not None for slot in self._slots)
        return len(self._waiting) + running + len(self._held) + len(self._failures)

    def close(self) -> None:
        """Drop every request and release the memory."""
        self._waiting.clear()
        self._held.clear()
        self._failures.clear()
        self._slots.clear()
        self._prefix_cache.clear()
        if not self._closed:
            del self._cache
        self._closed = True

    # --- sampling --------------------------------------------------------------------------------------------------

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Sample one or more tokens for every running row and return (ticket, completion) of ended rows by ticket.

        Sampling runs in this call, so `wait` has no effect.

        Raises:
            SamplingError: the logits of a request are not finite; the other requests continue with the next call.
        """
        del wait
        if not len(self):
            return []
        if not self._held and not self._failures:
            self._held = self._sample()
        if self._failures:
            raise self._failures.popleft()
        done, self._held = self._held, []
        return done

    def _sample(self) -> list[tuple[int, Completion]]:
        """Run one forward pass and sample the next tokens; adds to `_failures`."""
        with torch.inference_mode(), eval_mode(self._model.module):
            self._follow_weights()
            ids, before, positions = self._last_tokens()
            running = [slot.row for slot in self._slots[: len(ids)]]
            admission = self._admit()
            rest = read_long_rows(
                self._cache,
                [slot for slot, _ in admission.logits],
                admission.readings,
                admission.copies,
                chunk=self._prefill_chunk,
                whole_images=self._whole_images,
            )
            parts = self._cache.step(ids, before, positions, *rest)
            for index, _ in admission.logits:
                self._cache_prefix(index)
            if admission.logits:
                self._set_rules()
            present = [part for part in parts if part is not None]
            logits_NV = torch.cat(present) if len(present) > 1 else present[0]
            return self._draw(logits_NV, logit_requests(ids, running, self._slots, admission.logits))

    def _weights_stamp(self) -> tuple[int, int]:
        """A value that changes when the engine steps or loads, and when a parameter is written in place."""
        return self._version(), sum(parameter._version for parameter in self._parameters)

    def _follow_weights(self) -> None:
        if (stamp := self._weights_stamp()) == self._weights:
            return
        self._weights = stamp
        self._prefix_cache.clear()
        rows = sorted((slot.row for slot in self._slots if slot.row is not None), key=lambda row: row.ticket)
        self._waiting.extendleft(reversed(rows))
        self._slots = [Slot() for _ in self._slots]

    def _last_tokens(self) -> tuple[list[list[int]], list[int], list[int]]:
        """Arguments of `SlotCache.write`: last token and draft of every running row, the id before, and its
        position."""
        self._compact()
        live = [index for index, slot in enumerate(self._slots) if slot.row is not None]
        ids = list[list[int]]()
        before = list[int]()
        positions = list[int]()
        if not live:
            return ids, before, positions
        max_draft = MAX_DRAFT_LOGITS // (self._model.vocab_size * len(live))
        for slot in self._slots[: live[-1] + 1]:
            row = slot.row
            limit = 0 if row is None else min(max_draft, len(row.uniforms) - row.drawn - 1)
            draft = [] if row is None else self._drafts.draft(row.ids, limit)
            ids.append([0] if row is None else [row.ids[-1], *draft])
            before.append(-1 if row is None else row.ids[-2])
            positions.append(-1 if row is None else len(slot.ids))
            if row is not None:
                slot.ids.append(row.ids[-1])
                self.drafted_tokens += len(draft)
        self._reserve(max(position + len(tokens) for position, tokens in zip(positions, ids)))
        return ids, before, positions

    def _admit(self) -> Admission:
        """Move waiting requests into free slots; return the prefills of the next forward pass."""
        live = sum(slot.row is not None for slot in self._slots)
        rows = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._max_rows - live))]
        if rows:
            missing = live + len(rows) - len(self._slots)
            self._slots += [Slot() for _ in range(missing)]
            self._reserve(max(len(row.ids) for row in rows))
        free = [index for index, slot in enumerate(self._slots) if slot.row is None]
        admission = admit(rows, self._slots, free, self._prefix_cache, whole_images=self._whole_images)
        for index, prefix in admission.restores:
            for start, parts in prefix.segments:
                self._cache.put(index, start, parts)
        self.read_tokens += sum(len(reading.ids) - reading.start for reading in admission.readings)
        self.reused_tokens += admission.reused_tokens
        return admission

    def _draw(self, logits_NV: Tensor, requests: Sequence[LogitRequest]) -> list[tuple[int, Completion]]:
        """Sample the next token of every row and its accepted draft tokens; return the completions of ended rows."""
        assert self._rules is not None
        indices = [(one.slot, one.first + k) for one in requests for k in range(len(one.draft) + 1)]
        uniforms = [one.row.uniforms[one.row.drawn + k] for one in requests for k in range(len(one.draft) + 1)]
        slot_M, index_M = torch.tensor(indices, device=self._device).T
        uniform_M = torch.tensor(uniforms, dtype=torch.float64, device=self._device)
        logits_MV = logits_NV[index_M]
        drawn = draw(logits_MV, uniform_M, self._rules.rows(slot_M))
        top = _alternatives(logits_MV, requests)
        tokens = zip(drawn.ids_B.tolist(), drawn.logp_B.tolist(), drawn.behaviour_logp_B.tolist())
        version, done = self._weights[0], list[tuple[int, Completion]]()
        for slot, row, _, draft in requests:
            length = len(row.ids)
            if draft:
                ended = row.accept_draft(draft, list(islice(tokens, len(draft) + 1)), version)
                self._slots[slot].ids += row.ids[length:-1]
                self.accepted_tokens += len(row.ids) - length - 1
            else:
                ended = row.append(*next(tokens), version)
            row.top += top.get(row.ticket, ())[: len(row.ids) - length]
            self._drafts.learn(row.ids, length)
            if ended:
                self._leave(slot)
                seconds = time.perf_counter() - row.start_time
                try:
                    completion = make_completion(row.ticket, row.request, row.partial_turn(), seconds, row.top)
                except SamplingError as error:
                    self._failures.append(error)
                    self._forget()
                else:
                    done.append((row.ticket, completion))
        return sorted(done, key=lambda pair: pair[0])

    # --- slots -----------------------------------------------------------------------------------------------------

    def _set_rules(self) -> None:
        samplings = [Sampling() if slot.row is None else slot.row.request.sampling for slot in self._slots]
        self._rules = draw_rules(samplings, self._device)

    def _leave(self, index: int) -> None:
        self._cache_prefix(index)
        self._clock += 1
        self._slots[index].row, self._slots[index].last_used = None, self._clock

    def _forget(self) -> None:
        """Drop the keys and values of ended rows, which may not be finite."""
        self._prefix_cache.clear()
        for slot in self._slots:
            if slot.row is None:
                slot.ids = []

    def _cache_prefix(self, index: int) -> None:
        """Add the keys and values of a slot to the prefix cache, except for the part already cached."""
        ids = self._slots[index].ids
        start = self._prefix_cache.find(ids).length
        if start < min(len(ids), self._prefix_cache.max_tokens):
            self._prefix_cache.add(ids, start, self._cache.take(index, start, len(ids)))

    def _reserve(self, length: int) -> None:
        self._cache.reserve(len(self._slots), length)

    def _compact(self) -> None:
        """Move the last rows into free slots if few of the computed slots are occupied."""
        live = [index for index, slot in enumerate(self._slots) if slot.row is not None]
        if not live or len(live) >= MIN_OCCUPANCY * (live[-1] + 1):
            return
        free = [index for index, slot in enumerate(self._slots[: len(live)]) if slot.row is None]
        for source, target in zip([index for index in live if index >= len(live)], free):
            moved = self._slots[source]
            self._cache.put(target, 0, self._cache.take(source, 0, len(moved.ids)))
            self._slots[target], self._slots[source] = moved, Slot()
        self._set_rules()


def _alternatives(logits_MV: Tensor, requests: Sequence[LogitRequest]) -> dict[int, list[list[tuple[int, float]]]]:
    """By ticket, the most likely tokens at each logits of the rows that request them; M logits, in order of rows."""
    out, first = dict[int, list[list[tuple[int, float]]]](), 0
    for _, row, _, draft in requests:
        after = first + len(draft) + 1
        if count := row.request.top:
            temperature = row.request.sampling.temperature
            out[row.ticket] = most_likely(logits_MV[first:after], count, temperature=temperature)
        first = after
    return out
