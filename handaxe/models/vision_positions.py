"""Positions of tokens in rows and trees with images, and which image tokens attend in both directions.

Idea: a position is a function of the tokens before it alone, so rows that begin alike agree and trees may share. Models
of the Qwen-VL families number the tokens of an image as a grid of (frame, row, column) from the position of its first
token on; text continues after the largest of the three sides:

    tokens      5  6  a0 a1 a2 a3 a4 a5  7         image a: 1 frame, 2 rows, 3 columns
    frame       0  1  2  2  2  2  2  2   5
    row         0  1  2  2  2  3  3  3   5
    column      0  1  2  3  4  2  3  4   5
    shift       0  0  0  0  0  0  0  0  -3         position less the number of tokens before

Example: `grid_positions(ids_N, depth_N, last_N, grids)`

Shapes: N tokens of rows or trees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe.core.images import image_key, is_image_id, token_number

__all__ = ["grid_positions", "image_blocks", "next_positions"]

Grids = Callable[[int], np.ndarray]
"""Key of an image -> [3] frames, rows and columns."""


def grid_positions(ids_N: np.ndarray, depth_N: np.ndarray, last_N: np.ndarray, grids: Grids) -> np.ndarray:
    """Positions [3, N] int64.

    Args:
        ids_N: int64.
        depth_N: number of tokens before each token, in its row.
        last_N: index of the last token whose row holds the token; the tokens in between follow it.
        grids: of the images among the ids.
    """
    start_N = depth_N + _shift_before(ids_N, last_N, grids)
    out_3N = np.tile(start_N, (3, 1))
    for key, at in _by_image(ids_N):
        number = token_number(ids_N[at])
        out_3N[:, at] += np.stack(np.unravel_index(number, tuple(grids(key)))) - number
    return out_3N


def next_positions(ids_N: np.ndarray, depth_N: np.ndarray, last_N: np.ndarray, grids: Grids) -> np.ndarray:
    """Position [N] of a text token after each token; of no meaning inside an image."""
    return depth_N + 1 + _shift_before(ids_N, last_N, grids) + _gain(ids_N, grids)


def image_blocks(ids_N: np.ndarray, features_N: np.ndarray) -> np.ndarray:
    """Number of the image's run that holds the feature, [N] int64; -1 for other tokens.

    Args:
        ids_N: tokens of an image follow each other.
        features_N: True where a feature stands.
    """
    begins_N = is_image_id(ids_N) & (token_number(ids_N) == 0)
    return np.where(features_N, np.cumsum(begins_N) - 1, -1)


def _shift_before(ids_N: np.ndarray, last_N: np.ndarray, grids: Grids) -> np.ndarray:
    """Shift [N] by the images before each token."""
    gain_N = _gain(ids_N, grids)
    at = np.flatnonzero(gain_N)
    change_N = np.zeros(len(ids_N) + 2, np.int64)
    np.add.at(change_N, at + 1, gain_N[at])
    np.subtract.at(change_N, last_N[at] + 1, gain_N[at])
    return np.cumsum(change_N)[: len(ids_N)]


def _gain(ids_N: np.ndarray, grids: Grids) -> np.ndarray:
    """[N] longest side of an image less its number of tokens, at the image's last token; 0 elsewhere."""
    gain_N = np.zeros(len(ids_N), np.int64)
    for key, at in _by_image(ids_N):
        grid = grids(key)
        count = int(np.prod(grid))
        gain_N[at[token_number(ids_N[at]) == count - 1]] = int(max(grid)) - count
    return gain_N


def _by_image(ids_N: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Key, and indices of the tokens, of every image."""
    at = np.flatnonzero(is_image_id(ids_N))
    keys = image_key(ids_N[at])
    return [(int(key), at[keys == key]) for key in np.unique(keys)]
