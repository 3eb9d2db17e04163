"""Films of 64 frames: shots of real clips, with coloured cards that show handwritten numbers for an interval.

A film has four shots of 16 frames, each from a clip's part of the split. Three cards of different colours cover the
picture for 6 to 12 frames each, like the title cards of a silent film. A view of a window is a contact sheet of 32 by
32 pixels:

    frames of the sheet   1           4           16
    pixels of each        32 by 32    16 by 16    8 by 8, of 4 by 4 values
    a card shows          its number  its number  its colour
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.images import Image
from handaxe.worlds.clips.footage import CLIPS, FRAME, frames_of, part_of
from handaxe.worlds.plates.scene import UNIT, Plate, canvas, draw_plates
from handaxe.worlds.world import Split

__all__ = [
    "Card",
    "Film",
    "LENGTH",
    "OVERVIEW",
    "SHEET_SIZES",
    "draw_film",
    "film_of",
    "sheet",
    "sheet_frames",
]

LENGTH = 64
"""Frames of a film."""
SHOT = 16
"""Frames of a shot."""
OVERVIEW = 4
"""Frames of the overview."""
VALUES = {1: 32, 4: 16, 16: 4}
"""Frames of a contact sheet -> values of a side of each; 8 by 8 values would show some numbers."""
SHEET_SIZES = tuple(VALUES)
"""Frames that a contact sheet may have."""
CARDS = 3
"""Cards of a film."""
SHORTEST, LONGEST = 6, 12
"""Frames of a card."""


class Card(NamedTuple):
    """A card of a film.

    start, stop   frames of the film; stop is exclusive
    plate         its colour and its number
    """

    start: int
    stop: int
    plate: Plate


class Film(NamedTuple):
    """A film.

    shots   clip and first frame of each shot
    cards   the red one first
    """

    shots: tuple[tuple[str, int], ...]
    cards: tuple[Card, ...]

    def as_json(self) -> dict[str, Any]:
        """Return lists of the film's parameters, for `film_of`."""
        cards = [[one.start, one.stop, one.plate.colour, *one.plate.digits, *one.plate.shifts] for one in self.cards]
        return {"shots": [list(one) for one in self.shots], "cards": cards}

    def frame(self, number: int) -> np.ndarray:
        """Frame of the film, [32, 32, 3] uint8."""
        for card in self.cards:
            if card.start <= number < card.stop:
                return _card_pixels(card.plate)
        clip, first = self.shots[number // SHOT]
        pixels: np.ndarray = frames_of(clip)[first + number % SHOT]
        return pixels


def draw_film(rng: random.Random, split: Split, *, hidden: bool) -> Film:
    """Draw a film of a split's clips and handwriting.

    Args:
        rng: of shots and cards.
        split: train or test.
        hidden: the red card covers no frame of the overview, else one.

    Raises:
        InputError: a package is missing (extras [video] and [plates]).
    """
    shots = []
    for _ in range(LENGTH // SHOT):
        clip = rng.choice(CLIPS)
        part = part_of(clip, split)
        shots.append((clip, part.start + rng.randrange(len(part) - SHOT + 1)))
    spans = _draw_spans(rng, hidden)
    plates = [plate._replace(left=0, top=0) for plate in draw_plates(rng, split)[:CARDS]]
    return Film(tuple(shots), tuple(Card(*span, plate) for span, plate in zip(spans, plates, strict=True)))


def film_of(parameters: dict[str, Any]) -> Film:
    """Restore a film from `Film.as_json`."""
    cards = []
    for start, stop, colour, first, second, *shifts in parameters["cards"]:
        cards.append(Card(start, stop, Plate(colour, 0, 0, (first, second), tuple(shifts))))
    return Film(tuple((clip, first) for clip, first in parameters["shots"]), tuple(cards))


def sheet_frames(start: int, stop: int, count: int) -> list[int]:
    """Numbers of the frames of a sheet: the middles of `count` equal parts of the window.

    Example:
        sheet_frames(0, 64, 4) -> [8, 24, 40, 56];  sheet_frames(12, 20, 1) -> [16]
    """
    return [start + (2 * k + 1) * (stop - start) // (2 * count) for k in range(count)]


def sheet(film: Film, start: int, stop: int, count: int) -> Image:
    """Contact sheet of a window, [32, 32] pixels, in reading order.

    Args:
        film: the film.
        start, stop: window, in frames.
        count: 1, 4 or 16 frames.
    """
    side = round(count**0.5)
    small = [_reduced(film.frame(number), VALUES[count], FRAME // side) for number in sheet_frames(start, stop, count)]
    rows = [np.concatenate(small[side * k : side * (k + 1)], axis=1) for k in range(side)]
    return Image.of(np.concatenate(rows, axis=0))


def _reduced(pixels: np.ndarray, values: int, size: int) -> np.ndarray:
    """Mean of squares, `values` of them a side, enlarged to `size` by `size` pixels."""
    square = FRAME // values
    mean = np.rint(pixels.reshape(values, square, values, square, 3).mean((1, 3))).astype(np.uint8)
    return mean.repeat(size // values, 0).repeat(size // values, 1)


@functools.lru_cache(maxsize=1024)
def _card_pixels(plate: Plate) -> np.ndarray:
    return canvas((plate,)).crop((0, 0, 2 * UNIT, 2 * UNIT), longest=FRAME).pixels


def _draw_spans(rng: random.Random, hidden: bool) -> Sequence[tuple[int, int]]:
    """Draw disjoint spans with room between, the red one first."""
    shown = sheet_frames(0, LENGTH, OVERVIEW)
    spans: list[tuple[int, int]] = []
    while len(spans) < CARDS:
        size = rng.randint(SHORTEST, LONGEST)
        start = rng.randrange(LENGTH - size + 1)
        span = (start, start + size)
        if not spans and any(start <= number < start + size for number in shown) == hidden:
            continue
        if all(span[1] < low or high < span[0] for low, high in spans):
            spans.append(span)
    return spans
