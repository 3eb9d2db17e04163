"""Runs of a folder, with open records."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures, run_figures
from handaxe.training.record.regular_file import check_regular
from handaxe.training.record.run_record import RunRecord, record_files
from handaxe.view.rows import Rows
from handaxe.view.trajectory import Decode

__all__ = ["Runs", "ViewedRun", "find_runs", "printable_name"]

INSIDE = ("checkpoints", "format")
"""Folders of a run without further runs."""


def printable_name(path: str) -> str:
    """Text of a path; bytes that are not UTF-8 are escaped, since an address in a browser cannot have them.

    Example:
        "caf" and the byte e9 -> "caf\\xe9"
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def find_runs(folder: Path) -> dict[str, Path]:
    """Find every run in a folder, stages of runs and damaged runs included. Links to folders are not followed.

    Returns:
        Name -> folder. The name of a run is the path from `folder`; a run in `folder` itself is named as the folder.

    Raises:
        InputError: the folder does not exist.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; name a run, or a folder of runs")
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in INSIDE and not one.startswith("."))
        if "record.sqlite" in files and _has_begun(Path(place)):
            name = Path(place).relative_to(folder).as_posix()
            found[printable_name(folder.resolve().name or "run" if name == "." else name)] = Path(place)
    return found


def _has_begun(folder: Path) -> bool:
    """False for the empty record of a run that starts. A record that is not a regular file is damaged, not empty."""
    return not (folder / "record.sqlite").is_file() or RunRecord.exists(folder)


def _check_tree(folder: Path, *, root: Path) -> None:
    """Raise InputError if a folder holds devices, pipes or sockets, links to folders, or links out of `root`."""
    for place, folders, files in os.walk(folder):
        for name in folders:
            if Path(place, name).is_symlink():
                raise InputError(f"{Path(place, name)} is a link to a folder, and such links are not followed")
        for name in files:
            check_regular(Path(place, name), root=root)


class ViewedRun:
    """A run: record, table of rollouts, and decoder of token ids.

    Attributes:
        fault: the error of a damaged recipe.json, without which the run has no settings; "" for none.
    """

    def __init__(self, name: str, folder: Path, decoder: Callable[[Path], Decode]):
        self.name, self.folder = name, folder
        self._decoder = decoder
        self.record = RunRecord.open(folder)
        self.rows = Rows(self.record)
        self._silent: tuple[list[float], list[str]] | None = None
        self.about: dict[str, Any] = {}
        self.fault = ""
        try:
            self.about = self.record.about()
        except InputError as error:
            self.fault = str(error)

    @cached_property
    def decode(self) -> Decode:
        """Decoder of token ids, made on first use: it may load a tokenizer from files of the run.

        Raises:
            InputError: the chat format, or the whole run without one, has a file that is not regular, or a link out of
                the run.
        """
        saved = self.folder / "format"
        _check_tree(saved if saved.is_dir() and not saved.is_symlink() else self.folder, root=self.folder)
        return self._decoder(self.folder)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Arguments by name on the command line; empty for a run without a method."""
        method = self.about.get("recipe")
        found = method.get("arguments") if isinstance(method, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def method(self) -> str:
        """Name of the method; "" for a run of a script."""
        method = self.about.get("recipe")
        return str(method.get("name", "")) if isinstance(method, Mapping) else ""

    def figures(self) -> RunFigures:
        """Metrics of steps and evaluations."""
        return run_figures(self.record)

    def pulse(self) -> list[float]:
        """Number of steps, and times of the last step and the last event: changes with every write."""
        last = "(SELECT max(CAST(time AS REAL)) FROM {})"
        query = f"SELECT (SELECT count(*) FROM steps), {last.format('steps')}, {last.format('events')}"
        (found,) = self.record.query(query)
        return [float(one or 0) for one in found]

    def silent(self) -> list[str]:
        """Channels without spread within any group; cached until new data of the run."""
        pulse = self.pulse()
        if self._silent is None or self._silent[0] != pulse:
            self._silent = (pulse, self.record.silent_channels())
        return self._silent[1]

    def close(self) -> None:
        """Close the record."""
        self.record.close()


class Runs:
    """Runs of a folder by name. Not thread-safe.

    Args:
        folder: searched again for new runs.
        decoder: folder of a run -> decoder of token ids.
    """

    def __init__(self, folder: Path, decoder: Callable[[Path], Decode]):
        self.folder, self._decoder = Path(folder), decoder
        self._open: dict[str, tuple[int, ViewedRun]] = {}
        self._places = find_runs(self.folder)

    def names(self) -> list[str]:
        """Names of all runs, sorted, damaged runs included. Searches for new runs and closes removed runs."""
        self._places = find_runs(self.folder)
        for name in self._open.keys() - self._places.keys():
            self._open.pop(name)[1].close()
        return list(self._places)

    def all(self) -> list[ViewedRun]:
        """All runs whose record can be opened, sorted by name; see `names`."""
        found = []
        for name in self.names():
            with suppress(InputError):
                found.append(self[name])
        return found

    def __getitem__(self, name: str) -> ViewedRun:
        """The run of a name.

        Raises:
            InputError: there is no such run, or the record is damaged or a link out of the folder.
        """
        if name not in self._places:
            self._places = find_runs(self.folder)
        if name not in self._places:
            raise InputError(f"there is no run {name!r} here")
        place = self._places[name]
        for file in (*record_files(place), place / "recipe.json"):
            check_regular(file, root=self.folder)
        try:
            number = (place / "record.sqlite").stat().st_ino
        except OSError as error:
            raise InputError(f"the run {name!r} was removed: {error}") from None
        opened = self._open.get(name)
        if opened is None or opened[0] != number:
            if opened is not None:
                opened[1].close()
            self._open[name] = (number, ViewedRun(name, place, self._decoder))
        return self._open[name][1]

    def close(self) -> None:
        """Close every record."""
        for _, run in self._open.values():
            run.close()
        self._open.clear()
