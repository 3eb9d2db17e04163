"""What the stream knows of the rows in its slots, and how waiting requests get in without reading anything twice."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import NamedTuple

from handaxe.core.model_api import Copying, Reading
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.prefix_cache import KeptPrefix, Prefixes, common
from handaxe.engines.local.requests import begun, remaining_uniforms

__all__ = ["Admission", "LiveRow", "RowRequest", "Slot", "admit", "asked"]


class LiveRow:
    """A request at work: the turn as far as it is sampled, and the numbers that its next tokens are drawn with."""

    def __init__(self, ticket: int, request: Sample, max_length: int):
        before = begun(request)
        self.ticket, self.request = ticket, request
        self.ids = [*request.ids, *before.ids]
        self.logp, self.behaviour_logp = list(before.logp), list(before.behaviour_logp)
        self.version = list(before.version)
        self.ends = request.stop | request.header
        self.uniforms = remaining_uniforms(request, max_length).tolist()
        self.drawn = 0
        self.since = 0.0

    def add(self, token: int, logp: float, behaviour_logp: float, version: int) -> bool:
        """Take the next token; whether it is the last."""
        self.ids.append(token)
        self.logp.append(logp)
        self.behaviour_logp.append(behaviour_logp)
        self.version.append(version)
        self.drawn += 1
        return token in self.ends or self.drawn == len(self.uniforms)

    def follow(self, draft: Sequence[int], drawn: Sequence[tuple[int, float, float]], version: int) -> bool:
        """Take the next token, and those after it as long as the draft said so; whether that was the last.

        Args:
            draft: tokens that were thought to come next.
            drawn: (token, logp, behaviour_logp) after the row and after each token of the draft.
        """
        for (token, logp, behaviour_logp), expected in zip_longest(drawn, draft):
            if self.add(token, logp, behaviour_logp, version):
                return True
            if token != expected:
                break
        return False

    def sampled(self) -> Partial:
        """The turn so far."""
        return Partial(self.ids[len(self.request.ids) :], self.logp, self.behaviour_logp, self.version)


@dataclass
class Slot:
    """One row of the cache: the ids whose keys and values it holds, and the row at work in it, if any."""

    ids: list[int] = field(default_factory=list)
    row: LiveRow | None = None
    used: int = 0
    """When its last row left, on the stream's clock."""


class RowRequest(NamedTuple):
    """A row at work, its slot, which of the logits at hand are the first of its own, and the draft whose follow."""

    slot: int
    row: LiveRow
    first: int
    draft: Sequence[int]


def asked(
    ids: Sequence[Sequence[int]],
    writing: Sequence[LiveRow | None],
    slots: Sequence[Slot],
    joined: Sequence[tuple[int, int]],
) -> list[RowRequest]:
    """What the logits of one forward are for.

    Args:
        ids: what each slot has written, the last token of its row and a draft; their logits stand first.
        writing: the row of each of those slots then, None for one that was left alone.
        slots: now.
        joined: (slot, index into the logits after those) of the rows that came in meanwhile.
    """
    first = [0, *accumulate(map(len, ids))]
    out = [RowRequest(k, row, first[k], each[1:]) for k, (each, row) in enumerate(zip(ids, writing)) if row is not None]
    return out + [RowRequest(k, row, first[-1] + read, ()) for k, read in joined if (row := slots[k].row) is not None]


class Admission(NamedTuple):
    """How rows get into slots: what is laid down from the store, read, and copied while it is read; then where each
    joining row finds its logits, as (slot, index into what was read)."""

    puts: list[tuple[int, KeptPrefix]]
    readings: list[Reading]
    copies: list[Copying]
    logits: list[tuple[int, int]]
    reused: int
    """Tokens that the rows need and that are not read."""


def admit(rows: Sequence[LiveRow], slots: list[Slot], free: Sequence[int], prefixes: Prefixes) -> Admission:
    """Put rows into free slots, so that each token that they share is read once.

    A row goes on in the free slot that holds most of it, where that is at least as much as the store keeps; otherwise
    it takes the slot that was left longest ago, and what the store keeps is laid down there. Rows that begin alike
    come one after another in the order of their ids, and the later has from the earlier what neither finds kept.

    Args:
        rows: in order of arrival.
        slots: changed: the rows are put in, their ids taken as read.
        free: slots without a row, at least as many as rows.
    """
    left = sorted(free, key=lambda index: (bool(slots[index].ids), slots[index].used, index))
    out, reused = Admission([], [], [], [], 0), 0
    before: tuple[int, list[int]] | None = None
    for row in sorted(rows, key=lambda row: row.ids):
        index, kept = _continued(row, slots, left)
        found = prefixes.find(row.ids)
        if found.length > kept:
            index, kept = left[0], found.length
            out.puts.append((index, found))
        left.remove(index)
        start = min(kept, len(row.ids) - 1)
        if before is not None and (shared := common(before[1], row.ids)) > start:
            out.copies.append(Copying(before[0], index, start, shared))
            start = shared
        if start < len(row.ids):
            out.readings.append(Reading(index, list(row.ids), start))
        out.logits.append((index, len(out.readings) - 1))
        reused += start
        slots[index].ids, slots[index].row = list(row.ids), row
        row.since = row.since or time.perf_counter()
        before = index, row.ids
    return out._replace(reused=reused)


def _continued(row: LiveRow, slots: Sequence[Slot], left: Sequence[int]) -> tuple[int, int]:
    """The free slot whose ids are the longest beginning of the row's; the first, and 0, when there is none."""
    best, longest = left[0], 0
    for index in left:
        ids = slots[index].ids
        if longest < len(ids) <= len(row.ids) and row.ids[: len(ids)] == ids:
            best, longest = index, len(ids)
    return best, longest
