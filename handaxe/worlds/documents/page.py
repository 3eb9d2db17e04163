"""Pages of paper slips with printed numbers, Micro QR codes or pictures, and a stamp.

A page of 256 by 256 pixels is a grid of 4 by 4 cells. Five cells have a coloured slip of 64 by 64 pixels: two printed
lines, number and price of an article, the number as a Micro QR code, or a picture. A sixth cell has a stamp. The
overview has the mean colour of each unit of 32 by 32 pixels, as in `worlds.plates`, without readable text.

Fonts are those of matplotlib. Each split has its own fonts, photographs and articles, by a digest of the number.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.documents.pictures import article_picture
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.plates.scene import BACKGROUND, COLOURS, PLATES, SHOWN, SIDE, UNIT
from handaxe.worlds.world import Split

__all__ = [
    "Article",
    "DocumentPage",
    "Form",
    "INKS",
    "Slip",
    "Stamp",
    "draw_page",
    "draw_registry",
    "place_slips",
    "shrink_page",
]

Form = Literal["printed", "coded", "pictured"]

CELL = 2 * UNIT
"""Pixels of a side of a slip."""
MARGIN = 4
"""Least pixels beside a printed line."""
LINES = (17, 46)
"""Middle of the two printed lines, in pixels from the top."""
HEIGHT = 21
"""Most pixels of a printed digit."""
INK = (10, 10, 10)
MODULE = 4
"""Pixels of a module of a code: a code of 11 modules and a border of 2 on each side fills the slip but for 2 pixels."""
DIM = 0.3
"""Share of the colour of a slip that remains where its picture is black."""
FONTS: Mapping[Split, Sequence[str]] = {
    "train": ("DejaVuSans.ttf", "DejaVuSansMono.ttf", "DejaVuSerif.ttf", "STIXGeneral.ttf", "cmss10.ttf"),
    "test": ("DejaVuSerif-Bold.ttf", "STIXGeneralBol.ttf", "cmtt10.ttf"),
}
INKS: Mapping[str, tuple[int, int, int]] = {"black": (20, 20, 20), "brown": (120, 70, 20)}
"""Colours of a stamp."""
TEST_SHARE = 5
"""One article of this number is for tests."""
KEPT = 256
"""Pages that stay in memory, of about 0.2 MB each."""


class Article(NamedTuple):
    """Entry of the registry: a number of three digits, a price and a postage of two."""

    number: int
    price: int
    postage: int

    @property
    def split(self) -> Split:
        """The split of the article, by a digest of its number."""
        return content_split("documents", self.number, one_in=TEST_SHARE)


class Slip(NamedTuple):
    """Slip of a page.

    colour     a key of `plates.scene.COLOURS`
    left, top  in units
    number     of the article
    price      of the article, printed below the number of a printed slip
    form       printed lines, a code or a picture
    """

    colour: str
    left: int
    top: int
    number: int
    price: int
    form: Form

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom, in units."""
        return (self.left, self.top, self.left + 2, self.top + 2)


class Stamp(NamedTuple):
    """Stamp of a page: a key of INKS, left and top in units."""

    ink: str
    left: int
    top: int


class DocumentPage(NamedTuple):
    """Slips, a red one first, and a stamp."""

    slips: tuple[Slip, ...]
    stamp: Stamp


@functools.cache
def draw_registry(size: int, seed: int) -> tuple[Article, ...]:
    """Draw articles with distinct numbers."""
    rng = random.Random(derive_seed("documents registry", seed))
    numbers = rng.sample(range(100, 1000), size)
    return tuple(Article(number, rng.randrange(10, 100), rng.randrange(10, 100)) for number in numbers)


def place_slips(rng: random.Random, articles: Sequence[Article], forms: Sequence[Form]) -> DocumentPage:
    """Draw the slips of a page, a red one first, and a stamp, each in its own cell.

    Args:
        rng: source of the draws.
        articles: of the split.
        forms: of the slips, drawn evenly.
    """
    names = ["red", *rng.sample([name for name in COLOURS if name != "red"], PLATES - 1)]
    cells = rng.sample([(x, y) for y in range(0, SIDE, 2) for x in range(0, SIDE, 2)], PLATES + 1)
    chosen = rng.sample(articles, PLATES)
    slips = [
        Slip(name, *cell, article.number, article.price, rng.choice(forms))
        for name, cell, article in zip(names, cells, chosen)
    ]
    return DocumentPage(tuple(slips), Stamp(rng.choice(list(INKS)), *cells[-1]))


@functools.lru_cache(maxsize=KEPT)
def draw_page(page: DocumentPage, split: Split) -> Image:
    """Draw a page, [256, 256] pixels.

    Raises:
        InputError: a package is missing (extras [charts] and [vision]).
    """
    pixels = np.full((SIDE * UNIT, SIDE * UNIT, 3), BACKGROUND, np.uint8)
    for left, top, part in _parts(page, split):
        pixels[top * UNIT : top * UNIT + CELL, left * UNIT : left * UNIT + CELL] = part.pixels
    return Image.of(pixels)


def shrink_page(page: DocumentPage, split: Split) -> Image:
    """Draw the overview of a page, [32, 32] pixels: the mean of each unit. The page itself is not drawn.

    Raises:
        InputError: as `draw_page`.
    """
    means = np.full((SIDE, SIDE, 3), BACKGROUND, np.uint8)
    for left, top, part in _parts(page, split):
        means[top : top + 2, left : left + 2] = part.means
    return Image.of(means.repeat(SHOWN // SIDE, 0).repeat(SHOWN // SIDE, 1))


class _Part(NamedTuple):
    """Drawing of a cell: pixels [64, 64, 3] and their means over units [2, 2, 3], both uint8."""

    pixels: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, pixels: np.ndarray) -> _Part:
        return cls(pixels, pixels.reshape(2, UNIT, 2, UNIT, 3).mean((1, 3)).round().astype(np.uint8))


def _parts(page: DocumentPage, split: Split) -> list[tuple[int, int, _Part]]:
    """Left and top in units, and the drawing, of each slip and of the stamp."""
    slips = [(one.left, one.top, _slip(one.colour, one.number, one.price, one.form, split)) for one in page.slips]
    return [*slips, (page.stamp.left, page.stamp.top, _stamp(page.stamp.ink))]


@functools.lru_cache(maxsize=4096)
def _slip(colour: str, number: int, price: int, form: Form, split: Split) -> _Part:
    if form == "coded":
        return _Part.of(_coded(colour, number))
    if form == "pictured":
        light = article_picture(number, split).mean(2, keepdims=True) / 255
        return _Part.of(((DIM + (1 - DIM) * light) * np.array(COLOURS[colour])).astype(np.uint8))
    drawing = _Drawing(COLOURS[colour])
    fonts = FONTS[split]
    font = fonts[derive_seed("documents font", number) % len(fonts)]
    for middle, text in zip(LINES, (str(number), str(price))):
        drawing.pen.text((CELL // 2, middle), text, font=_fitting_font(font, text), fill=INK, anchor="mm")
    return _Part.of(np.asarray(drawing.sheet))


def _coded(colour: str, number: int) -> np.ndarray:
    """[64, 64, 3] uint8 of a slip with a Micro QR code."""
    pixels = np.full((CELL, CELL, 3), COLOURS[colour], np.uint8)
    dark = _code(number)
    edge = (CELL - len(dark)) // 2
    pixels[edge:-edge, edge:-edge][dark] = INK
    return pixels


@functools.cache
def _code(number: int) -> np.ndarray:
    """Dark pixels of a Micro QR code with its border, [60, 60] bool."""
    try:
        import segno
    except ImportError as error:
        raise InputError(
            'the world documents makes codes with segno, which is missing: pip install "handaxe[vision]"'
        ) from error
    rows = segno.make_micro(str(number), mask=0).matrix_iter(scale=MODULE, border=2)
    return np.array([list(row) for row in rows], bool)


@functools.cache
def _stamp(ink: str) -> _Part:
    """A ring around a bar."""
    drawing = _Drawing((BACKGROUND, BACKGROUND, BACKGROUND))
    drawing.pen.ellipse((2, 2, CELL - 3, CELL - 3), outline=INKS[ink], width=14)
    drawing.pen.rectangle((6, CELL // 2 - 8, CELL - 7, CELL // 2 + 8), fill=INKS[ink])
    return _Part.of(np.asarray(drawing.sheet))


class _Drawing:
    """A sheet of one colour, [64, 64], and its pen."""

    def __init__(self, colour: tuple[int, int, int]):
        import_pillow()
        from PIL import Image as Pillow
        from PIL import ImageDraw

        self.sheet = Pillow.new("RGB", (CELL, CELL), colour)
        self.pen = ImageDraw.Draw(self.sheet)


@functools.cache
def _fitting_font(name: str, text: str) -> Any:
    """Load a font at the largest size at which a line fits."""
    size = 2 * HEIGHT
    while True:
        font = _font(name, size)
        left, top, right, bottom = font.getbbox(text)
        if right - left <= CELL - 2 * MARGIN and bottom - top <= HEIGHT:
            return font
        size -= 1


@functools.cache
def _font(name: str, size: int) -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise InputError(
            'the world documents prints fonts of matplotlib, which is missing: pip install "handaxe[charts]"'
        ) from error
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), size)
