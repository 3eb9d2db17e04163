"""Vision tower of a tiny policy: one vector per patch of an image.

Convolutions of 3 by 3 with stride 2, which halve height and width until one position per patch is left, plus learned
vectors for the row and the column of the patch. An incomplete last row or column is filled up with the image's edge.

Idea: patch embedding by stacked convolutions, as in arXiv:2106.14881 ("Early Convolutions Help Transformers See
Better"), small enough to train on one core.

Example:
    TinyVision(width=128, patch=8)([image])[0]    [16, 128] for an image of 32 by 32 pixels

Shapes: N tokens, M image tokens, I distinct images, P patches of an image, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from handaxe.core.errors import InputError
from handaxe.core.images import Image, image_key, index_images, is_image_id, token_number
from handaxe.models.tiny_image_processor import MAX_SIDE, TinyImageProcessor

__all__ = ["TinyVision"]

PATCHES = (4, 8, 16, 32)
GROUPS = 4
"""Groups of the group normalization."""


class TinyVision(nn.Module):
    """Convolutions and position vectors; see the module.

    Args:
        width: of the vectors.
        patch: side of a patch in pixels: 4, 8, 16 or 32.

    Raises:
        InputError: another patch, or a width that does not split into the channels of the convolutions.
    """

    def __init__(self, width: int, patch: int):
        super().__init__()
        if patch not in PATCHES:
            raise InputError(f"patch is {patch}: give a side of 4, 8, 16 or 32 pixels, or 0 for no vision")
        halvings = patch.bit_length() - 1
        if width % (GROUPS << halvings - 1):
            raise InputError(f"width {width} with patch {patch} needs a multiple of {GROUPS << halvings - 1}")
        self.processor = TinyImageProcessor(patch)
        channels = [3, *(width >> (halvings - 1 - k) for k in range(halvings))]
        layers = list[nn.Module]()
        for before, after in pairwise(channels):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(GROUPS, after), nn.SiLU()]
        self.stem = nn.Sequential(*layers[:-2])
        self.rows = nn.Embedding(MAX_SIDE, width)
        self.columns = nn.Embedding(MAX_SIDE, width)
        for table in (self.rows, self.columns):
            nn.init.normal_(table.weight, std=0.5)

    def forward(self, images: Sequence[Image]) -> list[Tensor]:
        """Return the features [P, D] of each image; images of one grid are computed together.

        Raises:
            InputError: an image of more than 16 by 16 patches.
        """
        found = dict[int, Tensor]()
        grids = dict[tuple[int, int], list[int]]()
        for number, image in enumerate(images):
            grids.setdefault(self.processor.grid(image), []).append(number)
        for (rows, columns), numbers in grids.items():
            side = self.processor.patch
            pixels = np.stack([_fill(images[number].pixels, rows * side, columns * side) for number in numbers])
            x = torch.from_numpy(pixels).to(self.rows.weight).div(127.5).sub(1).permute(0, 3, 1, 2)
            x = self.stem(x).permute(0, 2, 3, 1) + self.rows.weight[:rows, None] + self.columns.weight[:columns]
            found |= zip(numbers, x.flatten(1, 2))
        return [found[number] for number in range(len(images))]

    def insert(self, x_ND: Tensor, ids_N: Tensor, images: Sequence[Image]) -> Tensor:
        """Replace the vectors of image tokens by features; every distinct image is computed once.

        Raises:
            InputError: an image is missing, or a token number lies beyond the image's patches.
        """
        at_M = is_image_id(ids_N).nonzero()[:, 0]
        if not len(at_M):  # the new tokens may begin behind every image
            return x_ND
        keys_I, image_M = image_key(ids_N[at_M]).unique(return_inverse=True)
        known = index_images(images)
        if missing := [key for key in keys_I.tolist() if key not in known]:
            digits = f"{missing[0] >> 2:011x}"
            raise InputError(
                f"token ids name an image with a digest that begins with {digits}, which is not beside them"
            )
        features = self([known[key] for key in keys_I.tolist()])
        size_I = torch.tensor([len(each) for each in features], device=ids_N.device)
        number_M = token_number(ids_N[at_M])
        if bool((number_M >= size_I[image_M]).any()):
            raise InputError(
                "an image has more tokens than this policy makes of it: use the chat format with the model's image "
                "processor, Compact(model.image_processor)"
            )
        start_I = size_I.cumsum(0) - size_I
        return x_ND.index_put((at_M,), torch.cat(features)[start_I[image_M] + number_M])


def _fill(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Extend [H, W, 3] pixels to the right and below by repeating the edge."""
    return np.pad(pixels, ((0, height - pixels.shape[0]), (0, width - pixels.shape[1]), (0, 0)), mode="edge")
