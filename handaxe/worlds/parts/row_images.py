"""Images of a user's rows: files beside the rows, bytes, and data: URLs. Nothing is fetched.

    "photos/cat.png"                   a file below the folder of the rows
    "data:image/png;base64,iVBORw0..."
    bytes, {"bytes": ..., "path": ...}    as in a saved data set of `datasets.Image(decode=False)`
    a list of these

Every image is decoded once, to check it and to compute its digest; a task keeps the place of the image and reads its
pixels on demand.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import decode_data_url
from handaxe.core.images import PLACEHOLDER, Image, join_images

__all__ = ["MARK", "RowImages", "cell_images", "place_images"]

MARK = "<image>"
"""Position of an image in a text, as in data sets of vision-language models."""
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://|//")
CACHED = 256_000_000
"""Bytes of decoded pixels in memory."""
Source = bytes | Path


class RowImages:
    """Reads the images of a file of rows.

    Args:
        folder: of the file; paths of images are relative to it, and stay below it.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.paths = dict[str, None]()
        """Paths of the images read, relative to the folder, in order."""
        self._where = "the working folder" if str(folder) == "." else str(folder)
        self._found: dict[str, Image | InputError] = {}
        self._recent = _RecentImages(CACHED)

    def fresh(self) -> RowImages:
        """A reader of the same folder that has read no image yet; decoded pixels are shared."""
        new = RowImages(self.folder)
        new._recent = self._recent
        return new

    def prefetch(self, cells: Iterable[Any]) -> None:
        """Decode the images of many cells in parallel. Faults are raised by `read`."""
        with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
            for _ in pool.map(self._try, cells):
                pass

    def read(self, cell: Any) -> Image:
        """Read one image.

        Raises:
            InputError: no image, an address that would have to be fetched, a path out of the folder, or an image that
                cannot be read.
        """
        found = self._try(cell)
        if isinstance(found, InputError):
            raise InputError(str(found))
        if path := _path_text(cell):
            self.paths[Path(path).as_posix()] = None
        return found

    def _try(self, cell: Any) -> Image | InputError:
        try:
            source, key = self._source(cell)
        except InputError as error:
            return error
        if key not in self._found:
            try:
                image = Image.read(source)
            except InputError as error:
                self._found[key] = error
            else:
                load = partial(self._recent.read, source, image.digest)
                self._found[key] = Image(
                    image.width, image.height, image.digest, media_type=image.media_type, load=load
                )
        return self._found[key]

    def _source(self, cell: Any) -> tuple[Source, str]:
        """Path or bytes of an image, and a key that is equal for equal sources."""
        if isinstance(cell, Mapping) and isinstance(cell.get("bytes"), bytes):
            cell = cell["bytes"]
        if isinstance(cell, str) and cell[:5].lower() == "data:":
            cell = decode_data_url(cell)
        if isinstance(cell, bytes):
            return cell, hashlib.sha256(cell).hexdigest()
        text = _path_text(cell)
        if text is None:
            raise InputError(f"an image is {cell!r:.60}; give a path below {self._where}, a data: URL or bytes")
        return self._file(text), f"file {text}"

    def _file(self, text: str) -> Path:
        if URL.match(text):
            raise InputError(
                f"the image {text!r:.80} is an address, and nothing is fetched: download the image into {self._where}, "
                "or leave images out with --world.image ''"
            )
        path = Path(text)
        if path.is_absolute() or path.drive or ".." in path.parts:
            raise InputError(f"the image {text!r} is not below the folder of the file: give a path below {self._where}")
        file = self.folder / path
        if not file.resolve().is_relative_to(self.folder.resolve()):
            raise InputError(f"the image {text!r} is a link out of {self._where}, and such links are not followed")
        if not file.exists():
            raise InputError(f"there is no image {text!r} below {self._where}")
        return file


class _RecentImages:
    """Decoded images; beyond `limit` bytes of pixels the least recently used is dropped."""

    def __init__(self, limit: int):
        self._limit, self._size = limit, 0
        self._held = OrderedDict[str, Image]()
        self._lock = Lock()

    def read(self, source: Source, digest: str) -> Image:
        with self._lock:
            if digest in self._held:
                self._held.move_to_end(digest)
                return self._held[digest]
        image = Image.read(source)
        with self._lock:
            if image.digest not in self._held:
                self._size += image.pixels.nbytes
            self._held[image.digest] = image
            while self._size > self._limit and len(self._held) > 1:
                _, dropped = self._held.popitem(last=False)
                self._size -= dropped.pixels.nbytes
        return image


def cell_images(cell: Any, *, split: Callable[[str], Any] | None = None) -> list[Any]:
    """List the images of a cell: of an empty cell none, of a list all, of another cell one.

    Args:
        cell: of the column of images.
        split: reads a text that starts with "[", such as a list in a CSV file.
    """
    if isinstance(cell, str) and cell.startswith("[") and split is not None:
        cell = split(cell)
    if cell is None or cell == "":
        return []
    return list(cell) if isinstance(cell, list | tuple) else [cell]


def place_images(text: str, images: Sequence[Image]) -> tuple[str, tuple[Image, ...]]:
    """Put images into a text: at its placeholders or at `<image>` if their number agrees, else before the text.

    Example:
        place_images("What is in <image>?", [image]) -> ("What is in \\ufffc?", (image,))
    """
    for mark in (PLACEHOLDER, MARK):
        if images and text.count(mark) == len(images):
            first, *rest = text.split(mark)
            return join_images(first, *(one for pair in zip(images, rest) for one in pair))
    return join_images(*images, text)


def _path_text(cell: Any) -> str | None:
    """Path of a cell; None for bytes, a data: URL and anything else."""
    if isinstance(cell, Mapping) and not isinstance(cell.get("bytes"), bytes):
        cell = cell.get("path")
    return cell if isinstance(cell, str) and cell and cell[:5].lower() != "data:" else None
