"""Trials of a search in the folder of the stage, for resume without repetition."""

from __future__ import annotations

import json
from pathlib import Path

from handaxe.core.errors import CheckpointError
from handaxe.training.record.folder import write_atomic
from handaxe.training.stages.parts.program_search import ProgramTrial

__all__ = ["TrialLog"]

TRIALS = "trials.json"


class TrialLog:
    """Finished trials of a stage, in the order of the search.

    Args:
        out: folder of the stage; None stores nothing.
        resume: read the trials that the folder has.

    Raises:
        CheckpointError: the file is damaged.

    Example:
        a stage killed after 3 of 12 trials: the resumed stage reads 3 of them and makes 9
    """

    def __init__(self, out: Path | None, *, resume: bool):
        self._file = None if out is None else out / TRIALS
        self._old = list[ProgramTrial]()
        self._done = list[ProgramTrial]()
        if resume and self._file is not None and self._file.exists():
            try:
                rows = json.loads(self._file.read_text(encoding="utf-8"))
                self._old = [
                    ProgramTrial(**{**one, "curves": {k: tuple(v) for k, v in one["curves"].items()}}) for one in rows
                ]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CheckpointError(f"{self._file} is damaged: {error!r}. Start again in another folder") from error

    def known(self, text: str) -> ProgramTrial | None:
        """Return the next trial of the folder if the program is equal, else None."""
        if len(self._done) < len(self._old) and self._old[len(self._done)].text == text:
            self._done.append(self._old[len(self._done)])
            return self._done[-1]
        return None

    def add(self, one: ProgramTrial) -> ProgramTrial:
        """Store a trial after the known trials, and return the trial."""
        self._done.append(one)
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._file, json.dumps([found._asdict() for found in self._done]) + "\n")
        return one
