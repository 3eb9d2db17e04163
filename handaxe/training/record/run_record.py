"""The record of a run: everything that was generated, scored, trained and measured, in one SQLite file.

A step is one transaction, so a kill at any instant loses at most the step in progress, and one may read while a run
writes. `record.sqlite` is queryable by anything that speaks SQL; `recipe.json` beside it says what was run.

    record = RunRecord.open(Path("runs/first"))
    record.steps(), record.metrics(), record.trajectories(step=3)
"""

import json
import math
import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import handaxe
from handaxe.errors import InputError
from handaxe.records import Task, Trajectory
from handaxe.training.record.codec import dump_text, load_record, load_text
from handaxe.training.record.groups import GroupRecord
from handaxe.training.record.reading import read_groups
from handaxe.training.record.schema import create, format_of, upgrade
from handaxe.training.record.writing import write_group

__all__ = ["Event", "RunRecord"]


class Event(NamedTuple):
    """Something that happened to a run: started, resumed, interrupted, failed, ended. `step`: steps done by then."""

    step: int
    kind: str
    text: str
    time: float


class RunRecord:
    """A run record, opened for writing; `RunRecord.open` opens one for reading.

    Args:
        folder: made when missing. A record that is there already is continued, in this handaxe's format.

    Raises:
        InputError: when the folder cannot be written or holds something else.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._writes = True
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.folder / "record.sqlite", isolation_level=None, timeout=30)
            self._db.execute("PRAGMA foreign_keys = ON")
            found = format_of(self._db, str(self.folder))
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            if self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                upgrade(self._db, found)
            else:
                create(self._db)

    @classmethod
    def open(cls, folder: Path) -> "RunRecord":
        """The record in `folder`, for reading; a run may be writing it. Raises InputError when there is none."""
        record = cls.__new__(cls)
        record.folder, record._writes = Path(folder), False
        path = record.folder / "record.sqlite"
        if not path.is_file():
            raise InputError(f"there is no run record in {folder}: record.sqlite is missing")
        try:
            record._db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=30)
            record._db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:  # a folder that may not be written, where the log has no index to share
            record._db = sqlite3.connect(f"file:{quote(str(path))}?immutable=1", uri=True)
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} is not a run record: {error}") from error
        format_of(record._db, str(record.folder))
        if not record._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
            record.close()
            raise InputError(f"the run record in {folder} is empty: the run was stopped before it began")
        return record

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def __enter__(self) -> "RunRecord":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- writing -----------------------------------------------------------------------------------------------

    def write_step(
        self,
        step: int,
        groups: list[GroupRecord],
        metrics: Mapping[str, float],
        evaluation: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep one whole step, or nothing of it.

        Raises:
            InputError: when the disk is full or the file cannot be written (nothing of the step is kept, all before
                it is), or another run has written this step.
        """
        with self._transaction():
            self._db.execute("INSERT INTO steps VALUES (?, ?)", (step, time.time()))
            for group in groups:
                write_group(self._db, group)
            rows = [(step, name, float(value)) for name, value in metrics.items()]
            self._db.executemany("INSERT INTO metrics VALUES (?, ?, ?)", rows)
            if evaluation is not None:
                self._write_evaluation(step + 1, evaluation)

    def write_evaluation(self, done: int, result: Mapping[str, Any]) -> None:
        """Keep what an evaluation found after `done` steps."""
        with self._transaction():
            self._write_evaluation(done, result)

    def write_event(self, step: int, kind: str, text: str = "") -> None:
        """Keep something that happened after `step` steps were done."""
        with self._transaction():
            row = (step, kind, dump_text(text), time.time())
            self._db.execute("INSERT INTO events (step, kind, text, time) VALUES (?, ?, ?, ?)", row)

    def write_about(self, about: Mapping[str, Any]) -> None:
        """Write recipe.json: facts about the run, and the versions of what it runs on. An earlier one is replaced."""
        versions = {name: _version(name) for name in ("torch", "numpy", "transformers")}
        versions |= {"python": platform.python_version(), "handaxe": handaxe.__version__}
        with self._writing():
            part = self.folder / "recipe.json.part"
            part.write_text(json.dumps({**about, "versions": versions}, indent=1, default=str) + "\n")
            os.replace(part, self.folder / "recipe.json")

    def roll_back(self, steps: int) -> int:
        """Forget every step but the first `steps`; returns how many were forgotten. Events stay."""
        with self._transaction():
            (count,) = self._db.execute("SELECT count(*) FROM steps WHERE step >= ?", (steps,)).fetchone()
            for table in ("steps", "metrics", "groups"):
                self._db.execute(f"DELETE FROM {table} WHERE step >= ?", (steps,))
            self._db.execute("DELETE FROM evaluations WHERE step > ?", (steps,))
        return count

    # --- reading -----------------------------------------------------------------------------------------------

    def steps(self) -> list[int]:
        """The steps recorded, in order."""
        return [step for (step,) in self._db.execute("SELECT step FROM steps ORDER BY step")]

    def groups(self, *, step: int | None = None, task: str | None = None) -> list[GroupRecord]:
        """Groups as they were written, of one step or of all, of one task id or of all."""
        return read_groups(self._db, step=step, task=task)

    def trajectories(self, *, step: int | None = None, task: str | None = None) -> list[Trajectory]:
        """The trajectories of those groups, failures included."""
        return [trajectory for one in self.groups(step=step, task=task) for trajectory in one.group]

    def tasks(self) -> list[Task]:
        """Every task that was tried, each once, in the order of its first attempt."""
        rows = self._db.execute("SELECT task FROM groups GROUP BY task_id ORDER BY min(id)")
        return [load_record(Task, text) for (text,) in rows]

    def metrics(self) -> list[dict[str, float]]:
        """One dict a step, in order; each has the key "step"."""
        found: dict[int, dict[str, float]] = {step: {"step": float(step)} for step in self.steps()}
        for step, name, value in self._db.execute("SELECT step, name, value FROM metrics ORDER BY step, name"):
            if step in found:  # a run may have added a step since
                found[step][name] = math.nan if value is None else value
        return list(found.values())

    def evaluations(self) -> dict[int, dict[str, Any]]:
        """What evaluations found, by the number of steps done."""
        return {step: json.loads(text) for step, text in self._db.execute("SELECT * FROM evaluations ORDER BY step")}

    def events(self) -> list[Event]:
        """What happened to the run, in order."""
        return [
            Event(step, kind, load_text(text), at)
            for step, kind, text, at in self._db.execute("SELECT step, kind, text, time FROM events ORDER BY id")
        ]

    def about(self) -> dict[str, Any]:
        """What recipe.json holds; {} when it was never written.

        Raises:
            InputError: it is damaged.
        """
        path = self.folder / "recipe.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is damaged: {error}. Put it back as it was") from error
        if not isinstance(found, dict):
            raise InputError(f"{path} is damaged: it holds no object. Put it back as it was")
        return found

    # --- inside ------------------------------------------------------------------------------------------------

    def _write_evaluation(self, done: int, result: Mapping[str, Any]) -> None:
        text = json.dumps(dict(result), default=_json_number)
        self._db.execute("INSERT OR REPLACE INTO evaluations VALUES (?, ?)", (done, text))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if not self._writes:
            raise InputError(f"the record in {self.folder} was opened for reading; use RunRecord(folder) to write")
        with self._writing():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise InputError(
                f"the record in {self.folder} already holds what was to be written ({error}): "
                "another run writes there; give each run a folder of its own"
            ) from error
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"the record in {self.folder} cannot be written: {error}. Free some space or name another folder; "
                "every step recorded before is intact, so a run there can be resumed"
            ) from error


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _json_number(value: Any) -> Any:
    """Numbers of numpy and torch as plain ones, arrays as lists, anything else as text."""
    try:
        return value.tolist()
    except AttributeError:
        return str(value)
