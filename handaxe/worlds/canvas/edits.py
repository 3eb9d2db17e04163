"""Edited drawings with three known qualities, for judges of pictures.

Idea: EditScore (paper 63) names the three: following the instruction, consistency of the rest, and perceptual quality.

Example:
    "dye 2 4 blue" on three objects: the object dyed, another one lost, two of four grades of dirt  ->  1, 1/2, 1/2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.ops.seeds import generator
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, SHAPES, Item, Items, draw_program, paint_items

__all__ = ["ASPECTS", "DIRT", "EditRequest", "EditedDrawing", "KINDS", "edit_drawing", "edit_requests", "edited_pairs"]

ASPECTS = ("followed", "kept", "clean")
"""Qualities of an edited drawing, each 0 to 1."""
OTHERS = 2
"""Objects that no request names."""
DIRT = 4
"""Grades of dirt."""
SPECKS = 8
"""Pixels of a grade of dirt."""
SHOWN = 32
"""Pixels of a side."""
NAMES = tuple(COLOURS)


class EditRequest(NamedTuple):
    """A request to change a drawing.

    kind     of `KINDS`
    words    a program of one statement
    before   objects of the drawing; the request is about the first one, or about a free cell
    wrong    program that changes the place in question, and not as requested
    place    cell in question
    colour   new colour; "" for none
    """

    kind: str
    words: str
    before: Items
    wrong: str
    place: tuple[int, int]
    colour: str = ""


class EditedDrawing(NamedTuple):
    """A drawing after an editor's work.

    request   of the user
    image     [32, 32] pixels
    followed  1 as requested, 1/2 another change at the place in question, 0 no change
    kept      share of the objects that no request names and that are still there
    clean     1 - grades of dirt / 4
    """

    request: EditRequest
    image: Image
    followed: float
    kept: float
    clean: float

    @property
    def qualities(self) -> tuple[float, float, float]:
        """followed, kept and clean."""
        return self.followed, self.kept, self.clean


def edit_requests(count: int, *, seed: int, kinds: Sequence[str] | None = None) -> list[EditRequest]:
    """Draw requests to edit drawings of three objects, or of two for an addition.

    Args:
        count: of requests.
        seed: of the requests.
        kinds: of `KINDS`, in turn; None for all.

    Raises:
        InputError: a negative count, an unknown kind or none.

    Example:
        kinds ("dye",): "dye 2 4 blue" about a red disc at 2 4
    """
    chosen = tuple(KINDS) if kinds is None else tuple(kinds)
    if count < 0 or not chosen or not set(chosen) <= set(KINDS):
        raise InputError(f"give a count from 0 and kinds of {', '.join(KINDS)}, not {count} and {', '.join(chosen)}")
    return [_request(chosen[k % len(chosen)], generator("edit request", seed, k)) for k in range(count)]


def edit_drawing(request: EditRequest, rng: np.random.Generator) -> EditedDrawing:
    """Carry out a request with errors, all qualities drawn uniformly and independently.

    Args:
        request: to carry out.
        rng: draws the errors.

    Example:
        all three draws at their best: the drawing of the program, without dirt
    """
    followed = int(rng.integers(3))
    lost = int(rng.integers(OTHERS + 1))
    dirt = int(rng.integers(DIRT + 1))
    change: Mapping[int, Callable[[Items], Items]] = {
        0: lambda items: items,
        1: lambda items: draw_program(request.wrong, items),
        2: lambda items: draw_program(request.words, items),
    }
    others = [one for one in request.before if (one.left, one.top) != request.place]
    gone = {others[int(k)] for k in rng.permutation(OTHERS)[:lost]}
    items = tuple(one for one in change[followed](request.before) if one not in gone)
    image = _with_dirt(paint_items(items, SHOWN), dirt, rng)
    return EditedDrawing(request, image, followed / 2, 1 - lost / OTHERS, 1 - dirt / DIRT)


def edited_pairs(
    count: int, *, seed: int, kinds: Sequence[str] | None = None
) -> list[tuple[EditedDrawing, EditedDrawing]]:
    """Draw requests, and carry out each request twice with errors.

    Args:
        count, seed, kinds: of `edit_requests`.

    Example:
        count 3  ->  three pairs, each of one request
    """
    rng = generator("edited pairs", seed)
    return [(edit_drawing(one, rng), edit_drawing(one, rng)) for one in edit_requests(count, seed=seed, kinds=kinds)]


def _with_dirt(image: Image, grade: int, rng: np.random.Generator) -> Image:
    """Replace pixels by random ones."""
    pixels = image.pixels.copy()
    place_N = rng.permutation(SHOWN * SHOWN)[: SPECKS * grade]
    pixels.reshape(-1, 3)[place_N] = rng.integers(256, size=(len(place_N), 3))
    return Image.of(pixels)


def _request(kind: str, rng: np.random.Generator) -> EditRequest:
    cells = [CELLS[int(k)] for k in rng.permutation(len(CELLS))]
    names = [NAMES[int(k)] for k in rng.permutation(len(NAMES))]
    shapes = [SHAPES[int(k)] for k in rng.integers(len(SHAPES), size=OTHERS + 1)]
    items = tuple(
        Item(str(rng.choice(names)), shape, *cell) for shape, cell in zip(shapes, cells[: OTHERS + 1], strict=True)
    )
    return KINDS[kind](items, cells[OTHERS + 1], names)


def _dye(items: Items, free: tuple[int, int], names: Sequence[str]) -> EditRequest:
    del free
    x, y = items[0].left, items[0].top
    new, other = [name for name in names if name != items[0].colour][:2]
    return EditRequest("dye", f"dye {x} {y} {new}", items, f"dye {x} {y} {other}", (x, y), new)


def _clear(items: Items, free: tuple[int, int], names: Sequence[str]) -> EditRequest:
    del free
    x, y = items[0].left, items[0].top
    other = next(name for name in names if name != items[0].colour)
    return EditRequest("clear", f"clear {x} {y}", items, f"dye {x} {y} {other}", (x, y))


def _add(items: Items, free: tuple[int, int], names: Sequence[str]) -> EditRequest:
    x, y = free
    new, other = names[:2]
    return EditRequest("add", f"{new} disc {x} {y}", items[1:], f"{other} disc {x} {y}", free, new)


KINDS: Mapping[str, Callable[[Items, tuple[int, int], Sequence[str]], EditRequest]] = {
    "dye": _dye,
    "clear": _clear,
    "add": _add,
}
"""Kind of a request -> (three objects, a free cell, colours in random order) -> request."""
