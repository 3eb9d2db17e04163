"""Image tokens of a tiny policy with vision: one token per square patch, in reading order.

Idea: patches as tokens, as in ViT (arXiv:2010.11929).

Example:
    TinyImageProcessor(8).token_ids(image)    16 ids for an image of 32 by 32 pixels
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.images import Image, is_image_id, token_number
from handaxe.core.model_api import PatchGrid

__all__ = ["MAX_SIDE", "TinyImageProcessor"]

MAX_SIDE = 16
"""Most patches in a row or a column."""
KIND = "tiny"
PLACEHOLDER_ID = 256
"""Id in the vocabulary that stands for image tokens: padding, which no text has."""


@dataclass(frozen=True)
class TinyImageProcessor:
    """Implements `core.model_api.ImageProcessor`; see the module. An incomplete last row or column counts as a patch.

    Attributes:
        patch: side of a patch in pixels.
    """

    patch: int

    @classmethod
    def restore(cls, described: Mapping[str, Any]) -> TinyImageProcessor:
        """Make a processor from the result of `describe`. Raises ValueError for another kind."""
        if described["kind"] != KIND:
            raise ValueError(f"unknown kind {described['kind']!r}")
        return cls(int(described["patch"]))

    def grid(self, image: Image) -> tuple[int, int]:
        """Return the rows and columns of patches.

        Raises:
            InputError: more than 16 rows or columns.
        """
        rows, columns = -(-image.height // self.patch), -(-image.width // self.patch)
        if max(rows, columns) > MAX_SIDE:
            most = MAX_SIDE * self.patch
            raise InputError(
                f"an image of {image.width}x{image.height} pixels is too large for this tiny policy, which reads at "
                f"most {most}x{most}: shrink it, image.resized({most}), or cut out a part, image.crop(box)"
            )
        return rows, columns

    def patch_grid(self, image: Image) -> PatchGrid:
        """Return the places of the tokens on the image."""
        rows, columns = self.grid(image)
        return PatchGrid(0, rows, columns, self.patch / image.width, self.patch / image.height)

    def token_ids(self, image: Image) -> list[int]:
        """Return one id per patch. Raises InputError for an image of more than 16 by 16 patches."""
        rows, columns = self.grid(image)
        return image.ids(rows * columns)

    def expand(self, ids: Sequence[int], images: Mapping[int, Image]) -> list[int]:
        """Replace each id of an image token by the padding id."""
        del images
        return [PLACEHOLDER_ID if is_image_id(token) else token for token in ids]

    def collapse(self, ids: Sequence[int]) -> list[int]:
        """Replace each image's run of ids by one padding id."""
        kept = (token for token in ids if not is_image_id(token) or token_number(token) == 0)
        return [PLACEHOLDER_ID if is_image_id(token) else token for token in kept]

    def describe(self) -> dict[str, Any]:
        """Return the kind and the patch side."""
        return {"kind": KIND, "patch": self.patch}
