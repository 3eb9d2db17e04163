"""Makes questions about what is hidden, and says where to look for it.

row     "a0 k18 c41 64: k?"                 number in the stretch from 18 to 41 of 64 symbols
grid    "k0 0 5 3 b5 0 8 3: b?"             number in the box 5 0 8 3 of a grid of 8 by 8
table   "a1=37 c2=12: d3?" or "...: d3+b1?" number in cell d3, or the sum of two cells, of a table of 4 by 4

Questions that need no tool ask for what the text says: "k at?" for 18, "b at?" for 5 0 8 3, "c2?" for 12.
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
NARROWEST = 12
"""Symbols of a stretch at least: a number, a symbol on either side of it, and some more."""
TOLD = 2
"""Boxes of a grid, of the four there are, that the question says."""
SHOWN = 2
"""Cells of a table that the question says."""


class _Drawn(NamedTuple):
    """What was drawn: the text before the question, what is hidden, what is asked for, its answer and its region.

    number   the region of the number alone, which any view that is to answer the question must hold
    cells    cells to be read, () for other kinds
    """

    said: str
    hidden: str
    check_count: str
    answer: str
    gold: Region
    number: Region
    cells: tuple[str, ...] = ()


def tasks(*, kind: Kind, count: int, seed: int, split: Split, needed: float) -> list[Task]:
    """Make questions of one kind.

    Args:
        kind: row, grid or table.
        count: how many, >= 1.
        seed: of what is drawn.
        split: a question, with what is hidden, is in one of them for ever; a quarter of all is to test.
        needed: share that cannot be answered without looking, 0 to 1.

    Returns:
        Tasks whose metadata are "needs_tool" ("yes" or "no"), "gold" (the region asked for), "number" (that of the
        number alone), "cells" (those to be read, of a table) and "hidden" (what the policy is not told).

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
        if (derive_seed("glimpse split", drawn.said, drawn.asked, drawn.hidden) % 4 == 0) == (split == "test"):
            break
    metadata = {
        "needs_tool": "yes" if looks else "no",
        "gold": list(drawn.gold),
        "number": list(drawn.number),
        "cells": list(drawn.cells),
        "hidden": drawn.hidden,
    }
    words = (Message("user", f"{drawn.said}: {drawn.asked}?"),)
    return Task(f"glimpse-{kind}-{split}-{seed}-{number}", words, drawn.answer, metadata=metadata)


def _draws(kind: Kind, rng: random.Random, looks: bool) -> Iterator[_Drawn]:
    draw = {"row": _row, "grid": _grid, "table": _table}[kind]
    while True:
        yield draw(rng, looks)


def _numbers(rng: random.Random, said: str, count: int) -> list[str]:
    """Different numbers of two digits that the text does not hold."""
    return rng.sample([str(value) for value in range(10, 100) if str(value) not in said], count)


def _row(rng: random.Random, looks: bool) -> _Drawn:
    spare = LENGTH - STRETCHES * NARROWEST
    cuts = sorted(rng.randrange(spare + 1) for _ in range(STRETCHES - 1))
    starts = [0] + [cut + NARROWEST * (k + 1) for k, cut in enumerate(cuts)]
    ends = [*starts[1:], LENGTH]
    names = rng.sample(LETTERS, STRETCHES)
    said = " ".join([f"{name}{start}" for name, start in zip(names, starts, strict=True)] + [str(LENGTH)])
    symbols, numbers = ["."] * LENGTH, _numbers(rng, said, STRETCHES)
    places = []
    for start, end, number in zip(starts, ends, numbers, strict=True):
        place = rng.randrange(start + 1, end - 2)  # a symbol is left on either side, so that numbers never touch
        symbols[place : place + 2] = number
        places.append(place)
    k = rng.randrange(STRETCHES)
    check_count, answer = (names[k], numbers[k]) if looks else (f"{names[k]} at", str(starts[k]))
    return _Drawn(said, "".join(symbols), check_count, answer, (starts[k], ends[k]), (places[k], places[k] + 2))


def _grid(rng: random.Random, looks: bool) -> _Drawn:
    boxes = []
    middle = rng.randrange(3, SIDE - 2)
    for left, right in ((0, middle), (middle, SIDE)):
        cut = rng.randrange(2, SIDE - 1)
        boxes += [(left, 0, right, cut), (left, cut, right, SIDE)]
    rng.shuffle(boxes)
    names = rng.sample(LETTERS, TOLD)
    said = " ".join(f"{name}{_words(box)}" for name, box in zip(names, boxes))
    lines, numbers = [["."] * SIDE for _ in range(SIDE)], _numbers(rng, said, len(boxes))
    places = []
    for (left, top, right, bottom), number in zip(boxes, numbers, strict=True):
        x, y = rng.randrange(left, right - 2), rng.randrange(top, bottom)  # a symbol is left on the right
        lines[y][x : x + 2] = number
        places.append((x, y))
    k = rng.randrange(TOLD)
    x, y = places[k]
    check_count, answer = (names[k], numbers[k]) if looks else (f"{names[k]} at", _words(boxes[k]))
    return _Drawn(said, "/".join(map("".join, lines)), check_count, answer, boxes[k], (x, y, x + 2, y + 1))


def _table(rng: random.Random, looks: bool) -> _Drawn:
    cells = [column + line for line in LINES for column in COLUMNS]
    numbers = dict(zip(cells, rng.sample([str(value) for value in range(10, 100)], len(cells)), strict=True))
    shown = rng.sample(cells, SHOWN)
    said = " ".join(f"{cell}={numbers[cell]}" for cell in shown)
    others = [cell for cell in cells if cell not in shown]
    check_count = rng.sample(others, rng.choice((1, 2))) if looks else [rng.choice(shown)]
    answer = str(sum(int(numbers[cell]) for cell in check_count))
    if (
        looks and answer in numbers.values() and len(check_count) > 1
    ):  # a sum that a cell happens to hold, shown or not
        return _table(rng, looks)
    column, line = COLUMNS.index(check_count[-1][0]), LINES.index(check_count[-1][1])
    region = (column, line, column + 1, line + 1)
    hidden = "/".join(" ".join(numbers[column + line] for column in COLUMNS) for line in LINES)
    return _Drawn(said, hidden, "+".join(check_count), answer, region, region, tuple(check_count))


def _words(region: Region) -> str:
    return " ".join(map(str, region))
