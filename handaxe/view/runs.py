"""The runs under a folder, and their records, kept open for as long as they are looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures, evaluations
from handaxe.training.record.run_record import RunRecord
from handaxe.view.rows import Rows
from handaxe.view.trajectory import Decode

__all__ = ["Runs", "ViewedRun", "find_runs"]

INSIDE = ("checkpoints", "format")
"""Folders of a run that hold no run."""


def find_runs(folder: Path) -> dict[str, Path]:
    """Name -> folder of every run in a folder, the stages of a run among them. The name of a run is its path from
    `folder`; where `folder` itself is a run, the name of that folder.

    Raises:
        InputError: there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; name a run, or a folder of runs")
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in INSIDE and not one.startswith("."))
        if "record.sqlite" in files and RunRecord.begun(Path(place)):
            name = Path(place).relative_to(folder).as_posix()
            found[folder.resolve().name or "run" if name == "." else name] = Path(place)
    return found


class ViewedRun:
    """One run: its record, the index of its attempts, and what turns its ids into text."""

    def __init__(self, name: str, folder: Path, decoder: Callable[[Path], Decode]):
        self.name, self.folder = name, folder
        self._decoder = decoder
        self.record = RunRecord.open(folder)
        self.rows = Rows(self.record)
        self._silent: tuple[list[float], list[str]] | None = None
        self.about: dict[str, Any] = {}
        with suppress(InputError):  # a damaged recipe.json takes its facts from the page, and nothing else
            self.about = self.record.about()

    @cached_property
    def decode(self) -> Decode:
        """Turns ids into text. Made when it is first needed, since it may load a tokenizer."""
        return self._decoder(self.folder)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was chosen, by its name on the command line; empty for a run that no recipe made."""
        recipe = self.about.get("recipe")
        found = recipe.get("arguments") if isinstance(recipe, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def recipe(self) -> str:
        """The recipe's name; "" without one."""
        recipe = self.about.get("recipe")
        return str(recipe.get("name", "")) if isinstance(recipe, Mapping) else ""

    def figures(self) -> RunFigures:
        """The figures of its steps and evaluations."""
        return RunFigures(self.record.metrics(), evaluations(self.record))

    def pulse(self) -> list[float]:
        """Changes when something was written: steps done, and when the last one and the last event were."""
        query = "SELECT (SELECT count(*) FROM steps), (SELECT max(time) FROM steps), (SELECT max(time) FROM events)"
        (found,) = self.record.query(query)
        return [float(one or 0) for one in found]

    def silent(self) -> list[str]:
        """The channels that never told two siblings apart; looked for again when the run has written something."""
        pulse = self.pulse()
        if self._silent is None or self._silent[0] != pulse:
            self._silent = (pulse, self.record.silent_channels())
        return self._silent[1]

    def close(self) -> None:
        """Release the record."""
        self.record.close()


class Runs:
    """The runs under a folder, by name. One thread at a time.

    Args:
        folder: where they are; what is written there later is found too.
        decoder: the folder of a run -> what turns its ids into text.
    """

    def __init__(self, folder: Path, decoder: Callable[[Path], Decode]):
        self.folder, self._decoder = Path(folder), decoder
        self._open: dict[str, tuple[int, ViewedRun]] = {}
        self._places = find_runs(self.folder)

    def all(self) -> list[ViewedRun]:
        """Every run that can be read, by name; looks for new ones, and releases those that are gone."""
        self._places = find_runs(self.folder)
        for name in self._open.keys() - self._places.keys():
            self._open.pop(name)[1].close()
        found = []
        for name in self._places:
            with suppress(InputError):
                found.append(self[name])
        return found

    def __getitem__(self, name: str) -> ViewedRun:
        """The run of this name. Raises InputError when there is none."""
        if name not in self._places:
            self._places = find_runs(self.folder)
        if name not in self._places:
            raise InputError(f"there is no run {name!r} here")
        place = self._places[name]
        try:
            number = (place / "record.sqlite").stat().st_ino
        except OSError as error:
            raise InputError(f"the run {name!r} is gone: {error}") from None
        there = self._open.get(name)
        if there is None or there[0] != number:
            if there is not None:
                there[1].close()
            self._open[name] = (number, ViewedRun(name, place, self._decoder))
        return self._open[name][1]

    def close(self) -> None:
        """Release every record."""
        for _, run in self._open.values():
            run.close()
        self._open.clear()
