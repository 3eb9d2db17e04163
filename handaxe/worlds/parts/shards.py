"""Rows of shards, streamed by the package `datasets` in a seeded order with a bounded buffer.

    epoch e      shards in an order seeded by (seed, e), each read from its start to its end
    window       `buffer` consecutive rows, permuted by a seed of (seed, e, window)
    position     epoch, window, shard, and the state of `datasets` at the start of the window

The shuffle buffer of `datasets` is lost in its state; a window is read again from the position of its start.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.ops.seeds import generator
from handaxe.worlds.parts.file_rows import FileRow, present_cells

__all__ = ["Position", "Shards", "open_shards"]

READERS = {
    ".parquet": "from_parquet",
    ".jsonl": "from_json",
    ".ndjson": "from_json",
    ".json": "from_json",
    ".arrow": "from_file",
}
"""Suffix -> constructor of `datasets.IterableDataset`. These make no requests, unlike `load_dataset`."""
COMPRESSED = (".gz", ".zst")


class Position(NamedTuple):
    """Start of a window: epoch, number of the window in the epoch, place of the shard in the epoch's order, row of the
    shard, and the state of `datasets` there (None at the start of a shard)."""

    epoch: int = 0
    window: int = 0
    shard: int = 0
    row: int = 0
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Shards:
    """Shards of a data set.

    names   of the shards, for messages
    files   paths of the shards; () for a data set of a hub
    split   of a data set of a hub
    hub     name of the data set of a hub, "" for files
    """

    names: tuple[str, ...]
    files: tuple[Path, ...]
    hub: str = ""
    split: str = "train"

    @property
    def folder(self) -> Path:
        """The folder that holds all shards; the working folder for a data set of a hub."""
        return Path(os.path.commonpath([one.parent for one in self.files])) if self.files else Path()

    def window(self, position: Position, *, seed: int, buffer: int) -> tuple[list[FileRow], Position]:
        """Read a window of rows.

        Args:
            position: of its start.
            seed: of the orders.
            buffer: rows of a window; the last window of an epoch may have fewer.

        Returns:
            The rows in their permuted order, and the position of the next window.

        Raises:
            TaskError: a shard cannot be read.
        """
        order = generator("shards", seed, position.epoch).permutation(len(self.names))
        rows, place = list[FileRow](), position
        while len(rows) < buffer and place.shard < len(order):
            shard = int(order[place.shard])
            stream = _undecoded(self._open(shard))
            if place.state is not None:
                stream.load_state_dict(dict(place.state))
            found = list(islice(_rows(stream, self.names[shard], place.row), buffer - len(rows)))
            rows += found
            place = place._replace(row=place.row + len(found), state=stream.state_dict())
            if len(rows) < buffer:
                place = place._replace(shard=place.shard + 1, row=0, state=None)
        ended = place.shard == len(order)
        after = Position(position.epoch + 1) if ended else place._replace(window=position.window + 1)
        mixed = generator("window", seed, position.epoch, position.window).permutation(len(rows))
        return [rows[k] for k in mixed], after

    def _open(self, shard: int) -> Any:
        if self.hub:
            return _load(self.hub, self.split).shard(num_shards=len(self.names), index=shard)
        file = self.files[shard]
        try:
            return getattr(_datasets().IterableDataset, READERS[_suffix(file)])(str(file))
        except Exception as error:  # of a parser, with types of its own
            raise TaskError(f"{file} cannot be read: {_sentence(error)}") from error


def open_shards(data: str, *, split: str) -> Shards:
    """Find the shards of a data set.

    Args:
        data: a file, a folder (all shards below it), or a pattern such as "data/train-*.parquet"; else the name of a
            data set of a hub.
        split: of a data set of a hub.

    Raises:
        TaskError: no file matches, or files of another kind. InputError: the package is missing, or the hub does not
            give the data set.
    """
    path = Path(data)
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and _suffix(one) in READERS)
    else:
        found = sorted(Path(one) for one in glob.glob(data, recursive=True) if Path(one).is_file())
    found = [one for one in found if one.stat().st_size]  # an empty shard has no row
    if wrong := [one for one in found if _suffix(one) not in READERS]:
        raise TaskError(
            f"{wrong[0]} is no shard; shards end in {', '.join(READERS)}, also with {' or '.join(COMPRESSED)}"
        )
    if found:
        root = path if path.is_dir() else Path(os.path.commonpath([one.parent for one in found]))
        return Shards(tuple(str(one.relative_to(root)) for one in found), tuple(found))
    if path.exists() or glob.has_magic(data) or path.is_absolute() or _suffix(path) in READERS or data.startswith("."):
        raise TaskError(f"no shard matches {data!r}; give a file, a folder or a pattern of {', '.join(READERS)} files")
    whole = _load(data, split)
    return Shards(tuple(f"{data}, shard {k}" for k in range(whole.num_shards)), (), data, split)


def _rows(stream: Any, name: str, first: int) -> Iterator[FileRow]:
    rows = iter(stream)
    number = first
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except Exception as error:  # of a parser, with types of its own
            raise TaskError(f"{name}, row {number} or later cannot be read: {_sentence(error)}") from error
        yield FileRow(f"{name}, row {number}", present_cells(cells))
        number += 1


def _undecoded(stream: Any) -> Any:
    """The stream with images as bytes, as they are stored; rows are handed out without a decoder."""
    features = stream.features or {}
    if any(type(one).__name__ in ("Image", "List", "Sequence") for one in features.values()):
        return stream.decode(False)
    return stream


def _load(name: str, split: str) -> Any:
    """An IterableDataset of a hub."""
    try:
        return _datasets().load_dataset(name, split=split, streaming=True)
    except InputError:
        raise
    except Exception as error:  # of hub clients, with types of their own
        raise InputError(
            f"there is no file or folder {name!r}, and datasets finds no data set of this name: {_sentence(error)}. "
            "Give a file, a folder or a pattern for data on this machine"
        ) from error


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise InputError('shards are streamed with the package datasets: pip install "handaxe[data]"') from error
    return datasets


def _sentence(error: Exception) -> str:
    """First line of an error of another package, or of its cause."""
    text = str(error) or repr(error.__cause__ or error)
    return text.strip().partition("\n")[0].rstrip(".")


def _suffix(path: Path) -> str:
    """Suffix in lower case, without the one of a compression."""
    name = path.name.lower()
    for one in COMPRESSED:
        name = name.removesuffix(one)
    return Path(name).suffix
