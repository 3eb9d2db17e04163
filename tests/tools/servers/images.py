"""Tools with images behind MCP: `python images.py [PORT]`, stdio without a port."""

import sys

import numpy as np

from handaxe.core.errors import Retry
from handaxe.core.images import Image
from handaxe.tools.decorator import tool
from handaxe.tools.serve import serve


@tool
def draw(seed: int) -> list:
    """Draw two images with a word before and after."""
    if seed < 0:
        raise Retry("a seed is 0 or more")
    first, second = (np.random.default_rng(seed + k).integers(0, 256, (8, 9, 3), np.uint8) for k in (0, 1))
    return ["before", Image.of(first), Image.of(second), "after"]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve([draw], transport="http", port=int(sys.argv[1]))
    else:
        serve([draw])
