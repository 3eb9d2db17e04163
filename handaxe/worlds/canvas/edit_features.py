"""Features of the pixels of a drawing, and of the requested cell.

Legend: C colours of the palette.

Idea: a frozen vision tower of a few numbers, so that reward models of pictures are fitted in a second.
"""

from __future__ import annotations

import numpy as np

from handaxe.core.images import Image
from handaxe.worlds.canvas.drawing import BACKGROUND, COLOURS, paint_items
from handaxe.worlds.canvas.edits import KINDS, EditRequest

__all__ = [
    "EDIT_SIZE",
    "PICTURE_SIZE",
    "REQUEST_SIZE",
    "edit_row",
    "palette_shares",
    "picture_features",
    "request_features",
]

PALETTE = np.array([BACKGROUND, *COLOURS.values()], np.float64)
NEAR = 40.0
"""Largest distance in RGB of a pixel of a colour."""
SHARES = len(PALETTE) + 1
CELL = 8
"""Pixels of a side of a cell, in drawings of 32 pixels."""
UNIT = 4
"""Pixels of a unit."""
PICTURE_SIZE = 2 * SHARES
"""Numbers of `picture_features`."""
REQUEST_SIZE = 2 * SHARES + 3 + len(KINDS)
"""Numbers of `request_features`."""
EDIT_SIZE = PICTURE_SIZE + REQUEST_SIZE
"""Numbers of `edit_row`."""


def palette_shares(pixels: np.ndarray) -> np.ndarray:
    """Count pixels near each colour of the palette.

        share_c = pixels whose nearest colour is c, at a distance of 40 or less, / pixels;  the last one: all others

    Args:
        pixels: [H, W, 3], 0 to 255.

    Returns:
        [C + 2] shares with sum 1: background, colours, others. Edges of objects and dirt are among the others.

    Example:
        half of the pixels white as the background, half red  ->  1/2, 1/2, 0, ...
    """
    distance_PC = np.sqrt(((pixels.reshape(-1, 1, 3).astype(np.float64) - PALETTE) ** 2).sum(-1))
    nearest_P = np.where(distance_PC.min(1) <= NEAR, distance_PC.argmin(1), len(PALETTE))
    return np.bincount(nearest_P, minlength=SHARES) / len(nearest_P)


def picture_features(image: Image, request: EditRequest) -> np.ndarray:
    """Describe a drawing and the drawing before, without the request: the shares of both.

    Example:
        an unchanged drawing  ->  the same eight numbers twice
    """
    before = paint_items(request.before, image.width)
    return np.concatenate([palette_shares(image.pixels), palette_shares(before.pixels)])


def request_features(image: Image, request: EditRequest) -> np.ndarray:
    """Describe the request, and the requested cell after and before.

        shares of the cell after, shares of the cell before, wanted colour as RGB / 255, kind as one of three

    Example:
        "dye 2 4 blue" carried out: the share of blue is above 0 in the first part alone
    """
    x, y = (UNIT * one for one in request.place)
    before = paint_items(request.before, image.width)
    cells = [palette_shares(one.pixels[y : y + CELL, x : x + CELL]) for one in (image, before)]
    wanted = np.array(COLOURS.get(request.colour, BACKGROUND), np.float64) / 255
    return np.concatenate([*cells, wanted, [float(request.kind == kind) for kind in KINDS]])


def edit_row(image: Image, request: EditRequest) -> np.ndarray:
    """Describe a drawing and its request: `picture_features`, then `request_features`.

    Example:
        a drawing of 32 pixels and its request  ->  38 numbers, the first 16 without the request
    """
    return np.concatenate([picture_features(image, request), request_features(image, request)])
