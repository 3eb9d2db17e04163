"""Screenshots of miniwob pages as a policy sees them: the part below the instruction, resized, with marks if asked for.

    page of 160 by 210 pixels --cut 160 by 160 below the instruction--> marks --resize--> image of the policy

A mark is the number of an element in the list, in its upper left corner, with a frame around the element.

Idea: set-of-mark prompting, arXiv:2310.11441.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image
from handaxe.worlds.miniwob.elements import Element

__all__ = ["AREA", "PAGE", "Seen", "View"]

Seen = Literal["elements", "marks", "pixels"]
PAGE = (160, 210)
"""Width and height of a page in pixels."""
AREA = (0, 50, 160, 210)
"""Left, top, right and bottom of the part that is shown, in pixels of the page."""
EXTENT = AREA[2] - AREA[0]
SMALLEST = 16
INK = (220, 0, 0)
PAPER = (255, 255, 255)


class View(NamedTuple):
    """Observation of a page.

    seen    "marks": a screenshot with a number on each element; "pixels": the screenshot as it is
    longest  side of the shown image, in pixels, 16 to 160
    unit     pixels of the shown image that are one step of a click's coordinates
    """

    seen: Seen
    longest: int = EXTENT
    unit: int = 1

    @property
    def side(self) -> int:
        """Units of a side."""
        return self.longest // self.unit

    def check(self) -> View:
        """Return the view.

        Raises:
            InputError: a side or unit out of range, or Pillow is missing (extra [images]).
        """
        if not SMALLEST <= self.longest <= EXTENT:
            raise InputError(f"a screenshot has {SMALLEST} to {EXTENT} pixels a side, not {self.longest}")
        if self.unit < 1 or self.longest % self.unit:
            raise InputError(f"{self.longest} pixels are no multiple of units of {self.unit}")
        import_pillow()
        return self

    def show(self, png: bytes, elements: Sequence[Element]) -> Image:
        """Make the image of a page.

        Args:
            png: screenshot of the page, 160 by 210 pixels.
            elements: its visible elements, numbered from 1.
        """
        shown = import_pillow().open(io.BytesIO(png)).convert("RGB")
        if self.seen == "marks":
            _mark(shown, elements)
        return Image.of(shown).crop(AREA, longest=self.longest)

    def to_page(self, x: int, y: int) -> tuple[int, int]:
        """Convert a unit of the shown image to the pixel of the page in its middle.

        Example:
            View("pixels", 32).to_page(0, 31) -> (2, 207);  View("pixels", 32, unit=4).to_page(0, 7) -> (10, 200)
        """
        scale = EXTENT / self.side
        return AREA[0] + int((x + 0.5) * scale), AREA[1] + int((y + 0.5) * scale)

    def to_shown(self, box: Sequence[int]) -> tuple[float, float, float, float]:
        """Convert left, top, right and bottom of the page to units of the shown image, where a unit is its middle.

        Example:
            View("pixels", 32).to_shown((0, 50, 160, 210)) -> (-0.5, -0.5, 31.5, 31.5)
        """
        scale = self.side / EXTENT
        left, top, right, bottom = (scale * (side - AREA[k % 2]) - 0.5 for k, side in enumerate(box))
        return left, top, right, bottom

    def middle(self, element: Element) -> tuple[int, int]:
        """Return the unit of the shown image that is nearest to the centre of an element."""
        left, top, right, bottom = self.to_shown(element.box)
        last = self.side - 1
        return min(max(round((left + right) / 2), 0), last), min(max(round((top + bottom) / 2), 0), last)


def _mark(image: Any, elements: Sequence[Element]) -> None:
    """Draw a frame and a number for each element."""
    from PIL import ImageDraw, ImageFont

    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default_imagefont()  # of Pillow, equal on every machine
    for number, element in enumerate(elements, start=1):
        left, top, right, bottom = element.box
        draw.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), outline=INK)
        width = 6 * len(str(number)) + 2
        draw.rectangle((left, top, left + width, top + 10), fill=INK)
        draw.text((left + 2, top), str(number), fill=PAPER, font=font)
