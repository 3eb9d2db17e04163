"""Image features of a random convolutional pyramid.

    x_0 = the image;  x_s = mean over 2 x 2 of max(0, conv_s(x_{s-1}))        s = 1..S, conv_s: 3 x 3, random, no bias

They replace a network trained on photographs: similar images have similar features, without a model of perception.
Zeros of the image stay zeros in every stage.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator

__all__ = ["Features", "random_pyramid"]

Features = Callable[[np.ndarray], list[np.ndarray]]
"""Image [height, width, colours] -> its features at each stage, arrays of any shape."""
LEAST = 8
"""Minimum length of a side in pixels."""


def random_pyramid(*, stages: int = 3, channels: int = 8, seed: int = 0) -> Features:
    """Make a feature function; the same seed draws the same filters.

    Args:
        stages: S, 1 to 3.
        channels: filters of each stage, >= 1.
        seed: of the filters.

    Returns:
        A function from an image [H, W, C] with sides of at least 8 pixels to S arrays, [H/2, W/2, channels] and
        smaller.

    Raises:
        InputError: an argument out of range; by the function: an image out of range.

    Example:
        an image of 24 x 32 pixels gives three stages of 12 x 16, 6 x 8 and 3 x 4, with 8 channels each

    Idea: similar images have similar features under random filters, too, which need no trained weights.
    """
    if not 1 <= stages <= 3 or channels < 1:
        raise InputError(f"stages are 1 to 3 and channels 1 or more; they are {stages} and {channels}")

    def features(image: np.ndarray) -> list[np.ndarray]:
        if image.ndim != 3 or min(image.shape[:2]) < LEAST:
            raise InputError(f"an image is [height, width, colours] with sides of 8 or more, not {image.shape}")
        found, current = [], image.astype(np.float64)
        for stage in range(stages):
            width = current.shape[2]
            filters = generator("random_pyramid", seed, stage, width).standard_normal((9 * width, channels))
            current = _halved(np.maximum(0.0, _patches(current) @ (filters / np.sqrt(9 * width))))
            found.append(current)
        return found

    return features


def _patches(image: np.ndarray) -> np.ndarray:
    """[H, W, 9 C]: each pixel with its neighbours, zero-padded at the edge."""
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    height, width = image.shape[:2]
    return np.concatenate([padded[y : y + height, x : x + width] for y in range(3) for x in range(3)], axis=2)


def _halved(image: np.ndarray) -> np.ndarray:
    """Means over 2 x 2 pixels; an odd last row or column is dropped."""
    height, width = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
    means: np.ndarray = image[:height, :width].reshape(height // 2, 2, width // 2, 2, -1).mean(axis=(1, 3))
    return means
