"""Admission of requests into cache slots: reuse cached prefixes and read each shared token once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import NamedTuple

from handaxe.core.images import is_image_id, token_number
from handaxe.core.model_api import Copying, Reading
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.prefix_cache import CachedPrefix, PrefixCache, common_length
from handaxe.engines.local.sample_requests import partial_turn, remaining_uniforms

__all__ = ["Admission", "LogitRequest", "RunningRow", "Slot", "admit", "image_start", "logit_requests"]


class RunningRow:
    """A running request: the sampled part of the turn and the uniform numbers of the next tokens."""

    def __init__(self, ticket: int, request: Sample, max_length: int):
        partial = partial_turn(request)
        self.ticket, self.request = ticket, request
        self.ids = [*request.ids, *partial.ids]
        self.logp, self.behaviour_logp = list(partial.logp), list(partial.behaviour_logp)
        self.version = list(partial.version)
        self.top = list[Sequence[tuple[int, float]]]()
        self.end_ids = request.stop | request.header
        self.uniforms = remaining_uniforms(request, max_length).tolist()
        self.drawn = 0
        self.start_time = 0.0

    def append(self, token: int, logp: float, behaviour_logp: float, version: int) -> bool:
        """Append a sampled token; return True at the end of the turn."""
        self.ids.append(token)
        self.logp.append(logp)
        self.behaviour_logp.append(behaviour_logp)
        self.version.append(version)
        self.drawn += 1
        return token in self.end_ids or self.drawn == len(self.uniforms)

    def accept_draft(self, draft: Sequence[int], drawn: Sequence[tuple[int, float, float]], version: int) -> bool:
        """Append sampled tokens up to the first that differs from the draft; True if the turn ends.

        Args:
            draft: drafted next tokens.
            drawn: (token, logp, behaviour_logp) after the row and after each draft token.
        """
        for (token, logp, behaviour_logp), expected in zip_longest(drawn, draft):
            if self.append(token, logp, behaviour_logp, version):
                return True
            if token != expected:
                break
        return False

    def partial_turn(self) -> Partial:
        """The sampled part of the turn."""
        return Partial(self.ids[len(self.request.ids) :], self.logp, self.behaviour_logp, self.version)


@dataclass
class Slot:
    """Slot of the cache: the ids of the cached keys and values, and the running row in the slot, if any."""

    ids: list[int] = field(default_factory=list)
    row: RunningRow | None = None
    last_used: int = 0
    """Time at which its last row left, on the stream's clock."""


class LogitRequest(NamedTuple):
    """Running row, slot, index of the first logits, and draft; the logits of the draft follow."""

    slot: int
    row: RunningRow
    first: int
    draft: Sequence[int]


def logit_requests(
    ids: Sequence[Sequence[int]],
    running: Sequence[RunningRow | None],
    slots: Sequence[Slot],
    admitted: Sequence[tuple[int, int]],
) -> list[LogitRequest]:
    """Map the logits of a forward pass to rows.

    Args:
        ids: tokens written to each slot, the last token of its row and a draft; their logits come first.
        running: the row of each written slot, None for a free slot.
        slots: all slots after admission.
        admitted: (slot, index into the logits of the prefill) of newly admitted rows.
    """
    first = [0, *accumulate(map(len, ids))]
    out = [
        LogitRequest(k, row, first[k], each[1:]) for k, (each, row) in enumerate(zip(ids, running)) if row is not None
    ]
    return out + [LogitRequest(k, row, first[-1] + n, ()) for k, n in admitted if (row := slots[k].row) is not None]


class Admission(NamedTuple):
    """Operations that move rows into slots: prefixes restored from the cache, prefills, copies between slots during the
    prefill, and for each row (slot, index into the prefill's logits)."""

    restores: list[tuple[int, CachedPrefix]]
    readings: list[Reading]
    copies: list[Copying]
    logits: list[tuple[int, int]]
    reused_tokens: int
    """Tokens of the rows that need no prefill."""


def admit(
    rows: Sequence[RunningRow],
    slots: list[Slot],
    free: Sequence[int],
    prefix_cache: PrefixCache,
    *,
    whole_images: bool = False,
) -> Admission:
    """Assign rows to free slots so that each shared token is read once.

    A row takes the free slot with the longest prefix of its ids, if at least as long as the cached prefix; otherwise
    the least recently used free slot, into which the cached prefix is restored. Rows are processed in order of their
    ids, so that rows with a common prefix are adjacent: a row copies from the row before it the tokens neither found
    cached.

    Args:
        rows: in order of arrival.
        slots: modified: rows are assigned, and their ids count as read.
        free: slots without a row, at least one for each row.
        whole_images: read an image from its first token on, and never a part of it (`VisionModel.whole_images`).
    """
    available = sorted(free, key=lambda index: (bool(slots[index].ids), slots[index].last_used, index))
    out, reused = Admission([], [], [], [], 0), 0
    previous: tuple[int, list[int]] | None = None
    for row in sorted(rows, key=lambda row: row.ids):
        index, cached = _longest_slot(row, slots, available)
        prefix = prefix_cache.find(row.ids)
        if prefix.length > cached:
            index, cached = available[0], prefix.length
            out.restores.append((index, prefix))
        available.remove(index)
        start = min(cached, len(row.ids) - 1)
        shared = 0 if previous is None else common_length(previous[1], row.ids)
        if whole_images:
            start = image_start(row.ids, start)
            shared = image_start(row.ids, shared)
        if previous is not None and shared > start:
            out.copies.append(Copying(previous[0], index, start, shared))
            start = shared
        if start < len(row.ids):
            out.readings.append(Reading(index, list(row.ids), start, row.request.images))
        out.logits.append((index, len(out.readings) - 1))
        reused += start
        slots[index].ids, slots[index].row = list(row.ids), row
        row.start_time = row.start_time or time.perf_counter()
        previous = index, row.ids
    return out._replace(reused_tokens=reused)


def image_start(ids: Sequence[int], position: int) -> int:
    """Return the position, or that of the first token of the image which a cut before the position would divide."""
    if position < len(ids) and is_image_id(ids[position]):
        return position - token_number(ids[position])
    return position


def _longest_slot(row: RunningRow, slots: Sequence[Slot], available: Sequence[int]) -> tuple[int, int]:
    """Find the free slot with the longest common prefix with the row; return slot and length, the first slot and 0
    without any."""
    best, longest = available[0], 0
    for index in available:
        ids = slots[index].ids
        if longest < len(ids) <= len(row.ids) and row.ids[: len(ids)] == ids:
            best, longest = index, len(ids)
    return best, longest
