"""Chunked prefill: long prompts are read in parts, which bounds the memory of a forward pass.

Attention of a part reads the keys and values of the parts before, so the result equals one forward pass up to float
rounding. Prompts of at most one part are read as before.
"""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.model_api import Copying, Reading, SlotCache
from handaxe.engines.local.slot_admission import image_start

__all__ = ["read_long_rows"]


def read_long_rows(
    cache: SlotCache,
    slots: Sequence[int],
    readings: Sequence[Reading],
    copies: Sequence[Copying],
    *,
    chunk: int,
    whole_images: bool = False,
) -> tuple[list[Reading], list[Copying]]:
    """Read all but the last part of each row with more than `chunk` new tokens.

    Args:
        cache: with room for all rows.
        slots: of the admitted rows, in order; a copy reads from an earlier row.
        readings, copies: of `engines.local.slot_admission.admit`; at most one of each for a slot.
        chunk: most tokens of a part; an image that is read whole may exceed it.
        whole_images: keep each image in one part.

    Returns:
        The rest of the readings, in the given order, and of the copies, for one step of the cache.
    """
    if all(len(reading.ids) - reading.start <= chunk for reading in readings):
        return list(readings), list(copies)
    reading_of = {reading.slot: reading for reading in readings}
    copy_of = {copy.target: copy for copy in copies}
    present = dict[int, int]()  # positions [0, present) of a slot are in the cache
    rest_readings, rest_copies = list[Reading](), list[Copying]()
    for slot in slots:
        reading, copy = reading_of.get(slot), copy_of.get(slot)
        start = reading.start if reading is not None else 0
        if copy is not None:
            start = max(copy.start, min(copy.stop, present[copy.source]))
            if whole_images and reading is not None:
                start = max(copy.start, image_start(reading.ids, start))
            if start > copy.start:
                cache.put(slot, copy.start, cache.take(copy.source, copy.start, start))
        is_long = reading is not None and len(reading.ids) - start > chunk
        if copy is not None and start < copy.stop and not is_long:
            rest_copies.append(copy._replace(start=start))
        if reading is not None:
            while is_long and len(reading.ids) - start > chunk:
                stop = _part_end(reading.ids, start, chunk) if whole_images else start + chunk
                if stop >= len(reading.ids):
                    break
                cache.read([reading._replace(ids=reading.ids[:stop], start=start)], [])
                start = stop
            rest_readings.append(reading._replace(start=start) if is_long else reading)
        present[slot] = start
    return rest_readings, rest_copies


def _part_end(ids: Sequence[int], start: int, chunk: int) -> int:
    """End of a part that divides no image: before the image at its end, or after it if the part is that image."""
    stop = image_start(ids, start + chunk)
    if stop > start:
        return stop
    stop = start + chunk
    while stop < len(ids) and image_start(ids, stop) < stop:
        stop += 1
    return stop
