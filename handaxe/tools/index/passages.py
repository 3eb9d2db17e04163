"""Passages in a memory-mapped file: a JSON object a line, and the offset of each line."""

from __future__ import annotations

import json
import mmap
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from handaxe.core.errors import InputError
from handaxe.tools.index.documents import Passage

__all__ = ["Passages", "write_passages"]

LINES, STARTS = "passages.jsonl", "passages.npy"


def write_passages(passages: Sequence[Passage], folder: Path) -> None:
    """Write passages to an existing folder. They must be sorted by id, then page, for `Passages.find`.

    Raises:
        InputError: the passages are not sorted, or there is no passage.
    """
    order = [(passage.id, passage.page) for passage in passages]
    if not order or order != sorted(order):
        raise InputError("passages are written sorted by id and page, and at least one of them")
    starts = [0]
    with open(folder / LINES, "wb") as file:
        for passage in passages:
            starts.append(starts[-1] + file.write(json.dumps(list(passage)).encode() + b"\n"))
    np.save(folder / STARTS, np.array(starts, dtype=np.int64), allow_pickle=False)


class Passages:
    """Sequence of Passage on disk, memory-mapped; thread-safe."""

    def __init__(self, folder: Path):
        self.starts: np.ndarray = np.load(folder / STARTS, mmap_mode="r", allow_pickle=False)
        with open(folder / LINES, "rb") as file:
            self.lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> Passage:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return Passage(*json.loads(self.lines[int(self.starts[number]) : int(self.starts[number + 1])]))

    def find(self, document: str) -> int | None:
        """Find the number of a document's first passage, or None; reads log2(N) passages."""
        place = bisect_left(range(len(self)), document, key=lambda number: self[number].id)
        return place if place < len(self) and self[place].id == document else None
