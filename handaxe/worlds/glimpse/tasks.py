"""Questions about hidden numbers, with the regions of the numbers.

row     "a0 k18 c41 64: k?"                 number in the stretch from 18 to 41 of 64 symbols
grid    "k0 0 5 3 b5 0 8 3: b?"             number in the box 5 0 8 3 of a grid of 8 by 8
table   "a1=37 c2=12: d3?" or "...: d3+b1?" number in cell d3, or the sum of two cells, of a table of 4 by 4

Questions without a need for the tool ask for information in the text: "k at?" for 18, "b at?" for 5 0 8 3, "c2?" for
12.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.glimpse.views import COLUMNS, LENGTH, LINES, SIDE, Region
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Split

__all__ = ["Kind", "tasks"]

Kind = Literal["row", "grid", "table"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
STRETCHES = 3
MIN_STRETCH = 12
"""Minimum symbols of a stretch: a number, a symbol on either side, and some more."""
NAMED = 2
"""Named boxes of a grid, among four."""
SHOWN_CELLS = 2
"""Cells of a table in the question."""


class _Drawn(NamedTuple):
    """Text before the question, hidden content, question, answer and its region.

    number: region of the number alone, contained in every sufficient view. cells: cells to read, () for other kinds.
    """

    text: str
    hidden: str
    question: str
    answer: str
    gold: Region
    number: Region
    cells: tuple[str, ...] = ()


def tasks(*, kind: Kind, count: int, seed: int, split: Split, needed: float) -> list[Task]:
    """Create questions of a kind.

    Args:
        kind: row, grid or table.
        count: number of tasks, >= 1.
        seed: seed of the tasks.
        split: a question with its hidden content belongs to one split; a quarter is in test.
        needed: share of questions that need the tool, 0 to 1.

    Returns:
        Tasks with metadata "needs_tool" ("yes" or "no"), "gold" (the region of the answer), "number" (the region of the
        number alone), "cells" (cells to read, of a table) and "hidden" (content hidden from the policy).

    Raises:
        TaskError: count below 1. InputError: another split; needed out of range.
    """
    check_count(split, count)
    if not 0 <= needed <= 1:
        raise InputError(f"glimpse takes a share needed of 0 to 1, not {needed}")
    return [_task(kind, seed, split, needed, number) for number in range(count)]


def _task(kind: Kind, seed: int, split: Split, needed: float, number: int) -> Task:
    rng = random.Random(derive_seed("glimpse", kind, seed, split, number))
    looks = rng.random() < needed
    for drawn in _draws(kind, rng, looks):
        if (derive_seed("glimpse split", drawn.text, drawn.question, drawn.hidden) % 4 == 0) == (split == "test"):
            break
    metadata = {
        "needs_tool": "yes" if looks else "no",
        "gold": list(drawn.gold),
        "number": list(drawn.number),
        "cells": list(drawn.cells),
        "hidden": drawn.hidden,
    }
    words = (Message("user", f"{drawn.text}: {drawn.question}?"),)
    return Task(f"glimpse-{kind}-{split}-{seed}-{number}", words, drawn.answer, metadata=metadata)


def _draws(kind: Kind, rng: random.Random, looks: bool) -> Iterator[_Drawn]:
    draw = {"row": _row, "grid": _grid, "table": _table}[kind]
    while True:
        yield draw(rng, looks)


def _numbers(rng: random.Random, text: str, count: int) -> list[str]:
    """Distinct two-digit numbers absent from the text."""
    return rng.sample([str(value) for value in range(10, 100) if str(value) not in text], count)


def _row(rng: random.Random, looks: bool) -> _Drawn:
    spare = LENGTH - STRETCHES * MIN_STRETCH
    cuts = sorted(rng.randrange(spare + 1) for _ in range(STRETCHES - 1))
    starts = [0] + [cut + MIN_STRETCH * (k + 1) for k, cut in enumerate(cuts)]
    ends = [*starts[1:], LENGTH]
    names = rng.sample(LETTERS, STRETCHES)
    text = " ".join([f"{name}{start}" for name, start in zip(names, starts, strict=True)] + [str(LENGTH)])
    symbols, numbers = ["."] * LENGTH, _numbers(rng, text, STRETCHES)
    places = []
    for start, end, number in zip(starts, ends, numbers, strict=True):
        place = rng.randrange(start + 1, end - 2)  # one symbol on either side: numbers never touch
        symbols[place : place + 2] = number
        places.append(place)
    k = rng.randrange(STRETCHES)
    question, answer = (names[k], numbers[k]) if looks else (f"{names[k]} at", str(starts[k]))
    return _Drawn(text, "".join(symbols), question, answer, (starts[k], ends[k]), (places[k], places[k] + 2))


def _grid(rng: random.Random, looks: bool) -> _Drawn:
    boxes = []
    middle = rng.randrange(3, SIDE - 2)
    for left, right in ((0, middle), (middle, SIDE)):
        cut = rng.randrange(2, SIDE - 1)
        boxes += [(left, 0, right, cut), (left, cut, right, SIDE)]
    rng.shuffle(boxes)
    names = rng.sample(LETTERS, NAMED)
    text = " ".join(f"{name}{_words(box)}" for name, box in zip(names, boxes))
    lines, numbers = [["."] * SIDE for _ in range(SIDE)], _numbers(rng, text, len(boxes))
    places = []
    for (left, top, right, bottom), number in zip(boxes, numbers, strict=True):
        x, y = rng.randrange(left, right - 2), rng.randrange(top, bottom)  # one symbol on the right
        lines[y][x : x + 2] = number
        places.append((x, y))
    k = rng.randrange(NAMED)
    x, y = places[k]
    question, answer = (names[k], numbers[k]) if looks else (f"{names[k]} at", _words(boxes[k]))
    return _Drawn(text, "/".join(map("".join, lines)), question, answer, boxes[k], (x, y, x + 2, y + 1))


def _table(rng: random.Random, looks: bool) -> _Drawn:
    cells = [column + line for line in LINES for column in COLUMNS]
    numbers = dict(zip(cells, rng.sample([str(value) for value in range(10, 100)], len(cells)), strict=True))
    shown = rng.sample(cells, SHOWN_CELLS)
    text = " ".join(f"{cell}={numbers[cell]}" for cell in shown)
    hidden_cells = [cell for cell in cells if cell not in shown]
    question = rng.sample(hidden_cells, rng.choice((1, 2))) if looks else [rng.choice(shown)]
    answer = str(sum(int(numbers[cell]) for cell in question))
    if looks and answer in numbers.values() and len(question) > 1:  # no sum that equals a cell
        return _table(rng, looks)
    column, line = COLUMNS.index(question[-1][0]), LINES.index(question[-1][1])
    region = (column, line, column + 1, line + 1)
    hidden = "/".join(" ".join(numbers[column + line] for column in COLUMNS) for line in LINES)
    return _Drawn(text, hidden, "+".join(question), answer, region, region, tuple(question))


def _words(region: Region) -> str:
    return " ".join(map(str, region))
