"""Preference pairs of drawings with a known order, from the requests of the world `canvas`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.records import Task
from handaxe.judges.viewed import PreferredMessage, request_message
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.canvas.canvas import SHOWN, task_items, wanted_clauses
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, Items, draw_program, paint_items
from handaxe.worlds.canvas.request import fidelity

__all__ = ["drawing_pairs"]


def drawing_pairs(tasks: Sequence[Task], *, seed: int = 0) -> list[PreferredMessage]:
    """Make a pair of each task: the requested drawing, and one with an error.

        error    another colour (half of the tasks), another place, or an object that is missing

    The order is that of the fidelity, which the worse drawing lowers by construction. Nobody has sampled these
    drawings: errors are drawn by `seed`.

    Returns:
        Pairs of messages of words and image, as `judges.viewed.request_and_image` makes them of a rollout.

    Example:
        "draw red disc at 2 4": a red disc there against a blue one; strength 1 - 2/3

    Idea: preference data of images needs no annotator where the images are made by programs.
    """
    made = list[PreferredMessage]()
    for number, task in enumerate(tasks):
        rng = random.Random(derive_seed("drawing pairs", seed, number))
        good, clauses = draw_program(task.metadata["program"], task_items(task)), wanted_clauses(task)
        bad = _with_error(good, rng)
        strength = fidelity(good, clauses) - fidelity(bad, clauses)
        if strength > 0:  # another place for a counted object is no error
            chosen, rejected = (request_message(task, paint_items(items, SHOWN)) for items in (good, bad))
            made.append(PreferredMessage(chosen, rejected, strength))
    return made


def _with_error(items: Items, rng: random.Random) -> Items:
    """Change the colour or the place of an object, or remove it."""
    place, kind = rng.randrange(len(items)), rng.choice(("colour", "colour", "place", "missing"))
    item = items[place]
    before, after = items[:place], items[place + 1 :]
    if kind == "missing":
        return (*before, *after)
    if kind == "colour":
        return (*before, item._replace(colour=rng.choice([name for name in COLOURS if name != item.colour])), *after)
    taken = [(one.left, one.top) for one in items]
    left, top = rng.choice([cell for cell in CELLS if cell not in taken])
    return (*before, item._replace(left=left, top=top), *after)
