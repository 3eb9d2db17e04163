"""Pictures of articles, and the tool that finds an article by its picture.

A picture is a part of a photograph of scikit-image. Each split has photographs of its own.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext
from handaxe.worlds.world import Split

__all__ = ["PICTURE", "article_picture", "image_search"]

PICTURE = 64
"""Pixels of a side."""
THUMBNAIL = 16
"""Pixels of a side of the compared pictures."""
CUT = 96
"""Pixels of a side of the part of a photograph."""
DRAWS = 8
"""Parts, of which the one with the largest contrast is taken."""
SIMILAR = 0.6
"""Least correlation of a result."""
PHOTOGRAPHS: Mapping[Split, Sequence[str]] = {
    "train": ("astronaut", "coffee", "rocket"),
    "test": ("chelsea", "hubble_deep_field"),
}


@functools.lru_cache(maxsize=4096)
def article_picture(number: int, split: Split) -> np.ndarray:
    """Cut out the picture of an article, [64, 64, 3] uint8.

    Args:
        number: of the article; it determines the part of a photograph.
        split: of the photograph.

    Raises:
        InputError: scikit-image is missing (extra [vision]).
    """
    rng = random.Random(derive_seed("documents picture", number))
    photograph = _photograph(rng.choice(PHOTOGRAPHS[split]))
    height, width = photograph.shape[:2]
    places = [(rng.randrange(height - CUT), rng.randrange(width - CUT)) for _ in range(DRAWS)]
    parts = [photograph[top : top + CUT, left : left + CUT] for top, left in places]
    return Image.of(max(parts, key=lambda part: float(part.std())).copy()).resized(PICTURE).pixels


def image_search(pictures: Mapping[int, np.ndarray], *, cost: float = 0.0) -> Tool:
    """Make the tool `image_search(image)`: the number of the article with the most similar picture.

        similarity = mean over pixels and colours of z(query) z(picture),  both 16 by 16, z standardized by colour

    Args:
        pictures: number of the article -> [64, 64, 3] uint8.
        cost: of a call.

    Returns:
        A tool. The reply is "nothing similar found" if the largest similarity is below 0.6.

    Raises:
        InputError: no picture.

    Idea: the image search of SenseNova-MARS (arXiv:2512.24330), on pixels in place of a web service.
    """
    if not pictures:
        raise InputError("image_search compares pictures: give one or more")
    numbers = list(pictures)
    known = np.stack([_standardize(Image.of(pictures[number])) for number in numbers])

    def find(context: ToolContext, image: Annotated[int, "number of the image, from 1"] = 1) -> str:
        """Find the article whose picture is most similar to an image."""
        similarity = known @ _standardize(context.image(image))
        best = int(similarity.argmax())
        return str(numbers[best]) if similarity[best] >= SIMILAR else "nothing similar found"

    return tool(name="image_search", timeout=None, cost=cost)(find)


def _standardize(image: Image) -> np.ndarray:
    """Vector [768]; the inner product of two vectors is the similarity."""
    small = np.asarray(image.pillow().resize((THUMBNAIL, THUMBNAIL)), np.float64)
    flat = small.reshape(-1, 3)
    spread = flat.std(0)
    return ((flat - flat.mean(0)) / np.where(spread > 0, spread, 1.0) / np.sqrt(flat.size)).ravel()


@functools.cache
def _photograph(name: str) -> np.ndarray:
    try:
        from skimage import data
    except ImportError as error:
        raise InputError(
            'the world documents has photographs of scikit-image, which is missing: pip install "handaxe[vision]"'
        ) from error
    return np.asarray(getattr(data, name)())
