"""Preference pairs of drawings with a known order, from the requests of the world `canvas`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.judges.viewed import PreferredMessage, request_message
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.canvas.canvas import SHOWN, task_items, wanted_clauses
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, Item, Items, draw_program, paint_items
from handaxe.worlds.canvas.request import fidelity

__all__ = ["DrawingError", "ERRORS", "Shown", "drawing_message", "drawing_pairs", "drawing_words", "with_error"]

DrawingError = Literal["colour", "place", "missing", "extra"]
Shown = Literal["image", "words"]
ERRORS: tuple[DrawingError, ...] = ("colour", "colour", "place", "missing")
"""Errors of the rejected side, each as frequent as its entries."""


def drawing_pairs(
    tasks: Sequence[Task], *, seed: int = 0, shown: Shown = "image", errors: Sequence[DrawingError] = ERRORS
) -> list[PreferredMessage]:
    """Make a pair of each task: the requested drawing, and one with an error.

        error    another colour (half of the tasks), another place, or an object that is missing

    The order is that of the fidelity, which the worse drawing lowers by construction. Nobody has sampled these
    drawings: errors are drawn by `seed`.

    Args:
        tasks: of `canvas`.
        seed: of the errors.
        shown: "image" for pairs of images; "words" for text-only pairs, with the objects in the words of programs.
        errors: kinds of errors, drawn with equal chance; "extra" adds an object that nobody asked for.

    Returns:
        Pairs of messages of words and image, as `judges.viewed.request_and_image` makes them of a rollout.

    Raises:
        InputError: no kind of error, or an unknown one.

    Example:
        "draw red disc at 2 4": a red disc there against a blue one; strength 1 - 2/3

    Idea: preference data of images needs no annotator where the images are made by programs.
    """
    if not errors or set(errors) - _CHANGES.keys() or shown not in ("image", "words"):
        raise InputError(f"errors are of {', '.join(_CHANGES)}, shown 'image' or 'words': {list(errors)}, {shown!r}")
    made = list[PreferredMessage]()
    for number, task in enumerate(tasks):
        rng = random.Random(derive_seed("drawing pairs", seed, number))
        good, clauses = draw_program(task.metadata["program"], task_items(task)), wanted_clauses(task)
        bad = with_error(good, rng, errors)
        strength = fidelity(good, clauses) - fidelity(bad, clauses)
        if strength > 0:  # another place for a counted object is no error
            chosen, rejected = (drawing_message(task, items, shown) for items in (good, bad))
            made.append(PreferredMessage(chosen, rejected, strength))
    return made


def drawing_message(task: Task, items: Items, shown: Shown = "image") -> Message:
    """Return the request and a drawing, as an image or in words.

    Example:
        "draw red disc at 2 4" and a line "blue disc 2 4"
    """
    image = paint_items(items, SHOWN) if shown == "image" else None
    message = request_message(task, image)
    return message if image else Message.of("user", message.content + drawing_words(items))


def drawing_words(items: Items) -> str:
    """Return the objects of a drawing in the words of programs.

    Example:
        "red disc 2 4; blue ring 0 0", and "none" for a blank canvas
    """
    return "; ".join(f"{item.colour} {item.shape} {item.left} {item.top}" for item in items) or "none"


def with_error(items: Items, rng: random.Random, errors: Sequence[DrawingError] = ERRORS) -> Items:
    """Change the colour or the place of an object, remove it, or add another object in a free cell.

    A blank canvas stays blank.

    Example:
        (Item("red", "disc", 2, 4),) and "colour": (Item("blue", "disc", 2, 4),)
    """
    if not items:
        return items
    place = rng.randrange(len(items))
    kind = rng.choice(list(errors))
    return (*items[:place], *_CHANGES[kind](items, place, rng), *items[place + 1 :])


def _recoloured(items: Items, place: int, rng: random.Random) -> Items:
    item = items[place]
    return (item._replace(colour=rng.choice([name for name in COLOURS if name != item.colour])),)


def _moved(items: Items, place: int, rng: random.Random) -> Items:
    left, top = _free_cell(items, rng)
    return (items[place]._replace(left=left, top=top),)


def _joined(items: Items, place: int, rng: random.Random) -> Items:
    left, top = _free_cell(items, rng)
    return (items[place], Item(rng.choice(list(COLOURS)), items[place].shape, left, top))


def _free_cell(items: Items, rng: random.Random) -> tuple[int, int]:
    taken = [(one.left, one.top) for one in items]
    return rng.choice([cell for cell in CELLS if cell not in taken])


_CHANGES: Mapping[DrawingError, Callable[[Items, int, random.Random], Items]] = MappingProxyType(
    {"colour": _recoloured, "place": _moved, "missing": lambda items, place, rng: (), "extra": _joined}
)
"""Error -> (objects, number of the object, source of randomness) -> objects in its place."""
