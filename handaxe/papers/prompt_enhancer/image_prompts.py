"""A frozen generator of images that reads prompts as such models do: without counts, relations and negations."""

from __future__ import annotations

import random
import re

from handaxe.ops.seeds import derive_seed
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, SHAPES, Item, Items

__all__ = ["draw_prompt"]

PHRASES = 16
"""Phrases of a prompt that are read."""
SINGULAR = {form: shape for shape in SHAPES for form in (shape, shape + "s")}


def draw_prompt(prompt: str, *, seed: int) -> Items:
    """Draw a prompt with a generator that cannot be trained.

    A phrase "COLOUR SHAPE X Y" is an object at a place, where X and Y are even numbers from 0 to 6. Any other phrase is
    read as a list of words: each colour is one object, of the next shape word of the phrase before another colour, or
    of a random shape, at a random free place. Other words are ignored. So "2 red discs" is one disc, "red disc left of
    blue ring" has the relation by chance, and "red disc without blue" has a blue object.

    Args:
        prompt: phrases, separated by ";" or ","; the first 16 are read.
        seed: of shapes and places; equal seeds and prompts give equal drawings.

    Returns:
        Objects at different places, at most 16; a later object replaces an earlier one at its place.

    Example:
        "red disc 0 0; 2 blue rings": a red disc at 0 0, and one blue ring at a random place

    Idea: faults of text-to-image models that PromptEnhancer (arXiv:2509.04545) names: binding of attributes, negation,
    relations and counts.
    """
    phrases = [one.split() for one in re.split("[;,]", prompt.lower())[:PHRASES]]
    drawn = dict[tuple[int, int], Item]()
    loose = list[tuple[str, str | None]]()
    for words in phrases:
        placed = _placed(words)
        if placed is None:
            loose += _objects(words)
        else:
            drawn[placed.left, placed.top] = placed
    rng = random.Random(derive_seed("draw prompt", prompt, seed))
    free = [cell for cell in CELLS if cell not in drawn]
    rng.shuffle(free)
    for (colour, shape), cell in zip(loose, free):
        drawn[cell] = Item(colour, shape or rng.choice(SHAPES), *cell)
    return tuple(drawn.values())


def _placed(words: list[str]) -> Item | None:
    match words:
        case [colour, shape, x, y] if colour in COLOURS and shape in SHAPES:
            cell = next((one for one in CELLS if list(map(str, one)) == [x, y]), None)
            return None if cell is None else Item(colour, shape, *cell)
    return None


def _objects(words: list[str]) -> list[tuple[str, str | None]]:
    """Colour and shape, if stated, of each object of a phrase without a place."""
    found = list[tuple[str, str | None]]()
    for word in words:
        if word in COLOURS:
            found.append((word, None))
        elif word in SINGULAR and found and found[-1][1] is None:
            found[-1] = (found[-1][0], SINGULAR[word])
    return found
