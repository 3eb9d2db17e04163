"""Run record: all rollouts, scores, training data and metrics of a run, in one SQLite file.

A step is one transaction: a kill loses at most the step in progress, and other processes can read while a run
writes. `record.sqlite` is open to any SQL client; `recipe.json` describes the run.

    record = RunRecord.open(Path("runs/first"))
    record.steps(), record.metrics(), record.trajectories(step=3)
"""

import json
import math
import os
import platform
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import handaxe
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.records import Task, Trajectory
from handaxe.ops.codec import dump_text, load_record, load_text
from handaxe.ops.nested_values import MAX_NESTING, exceeds_depth
from handaxe.training.record.folder import FolderLock, write_atomic
from handaxe.training.record.groups import RecordedGroup
from handaxe.training.record.reading import read_groups, read_trajectory_group, silent_channels
from handaxe.training.record.regular_file import check_regular, read_regular
from handaxe.training.record.schema import create, record_format, upgrade
from handaxe.training.record.stored_images import (
    StoredImage,
    connect_reader,
    delete_unshown,
    image_source,
    read_image,
)
from handaxe.training.record.writing import write_group

__all__ = ["Event", "RunRecord", "record_files"]

LARGEST_ABOUT = 10_000_000
"""Size limit of recipe.json in bytes."""


def record_files(folder: Path) -> list[Path]:
    """Paths of the database of a record, and of the files that SQLite may keep beside the database."""
    return [folder / f"record.sqlite{suffix}" for suffix in ("", "-wal", "-shm", "-journal")]


class Event(NamedTuple):
    """Event of a run: started, resumed, interrupted, failed, ended. `step`: number of steps done by then."""

    step: int
    kind: str
    text: str
    time: float


class RunRecord:
    """Run record, opened for writing; `RunRecord.open` opens one for reading.

    Args:
        folder: created if missing. An existing record is continued, in the current format. The folder is locked until
            `close`: it has one writer at a time.
        about: for `write_about`, before a new record is created, so that no record lacks it.

    Raises:
        InputError: the folder cannot be written, is being written by another process or has other contents.
    """

    def __init__(self, folder: Path, *, about: Mapping[str, Any] | None = None):
        self.folder = Path(folder)
        self._writes = True
        with self._writing(), ExitStack() as stack:
            self.folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FolderLock(self.folder))
            _check_files(self.folder)
            self._db = sqlite3.connect(self.folder / "record.sqlite", isolation_level=None, timeout=30)
            stack.callback(self._db.close)
            self._db.execute("PRAGMA foreign_keys = ON")
            self._prepare(about)
            self._held = stack.pop_all()

    def _prepare(self, about: Mapping[str, Any] | None) -> None:
        """Create the tables, or check that existing ones are complete and of the current format."""
        found = record_format(self._db, str(self.folder))
        with self._reading():
            (whole,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if whole != "ok":
            raise self._damaged(whole)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if _has_tables(self._db):
            upgrade(self._db, found)
            return
        if about is not None:
            self.write_about(about)
        create(self._db)
        # Into the main file: without the tables it would be no record if its log were lost.
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @classmethod
    def open(cls, folder: Path) -> "RunRecord":
        """Open the record in `folder` for reading, even while a run writes it. Raises InputError if there is none."""
        record = cls.__new__(cls)
        record.folder, record._writes = Path(folder), False
        record._held = ExitStack()
        path = record.folder / "record.sqlite"
        if not path.is_file():
            raise InputError(f"there is no run record in {folder}: record.sqlite is missing")
        _check_files(record.folder)
        with record._reading():
            record._db = connect_reader(path)
            record._held.callback(record._db.close)
            record_format(record._db, str(record.folder))
            begun = _has_tables(record._db)
        if not begun:
            record.close()
            raise InputError(f"the run record in {folder} is empty: the run was stopped before it began. Start again")
        return record

    @classmethod
    def exists(cls, folder: Path) -> bool:
        """Return True if a run has begun in a folder: a record exists and is not empty."""
        path = Path(folder) / "record.sqlite"
        if not path.is_file():
            return False
        where = f"file:{quote(os.fsencode(path))}?mode=ro"
        with suppress(sqlite3.Error, UnicodeDecodeError, InputError):
            _check_files(Path(folder))
            with closing(sqlite3.connect(where, uri=True)) as db:
                return _has_tables(db)
        return True  # not empty, so it must not be overwritten

    def close(self) -> None:
        """Close the file and release the folder."""
        self._held.close()

    def __enter__(self) -> "RunRecord":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def _file(self) -> Path:
        return (self.folder / "record.sqlite").absolute()

    # --- writing -----------------------------------------------------------------------------------------------

    def write_step(
        self,
        step: int,
        groups: Sequence[RecordedGroup],
        metrics: Mapping[str, float],
        evaluation: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a whole step in one transaction.

        Raises:
            InputError: the disk is full or the file cannot be written (the step is lost, all earlier ones are intact),
                or another run has written this step.
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
        """Write the result of an evaluation after `done` steps."""
        with self._transaction():
            self._write_evaluation(done, result)

    def write_event(self, step: int, kind: str, text: str = "") -> None:
        """Write an event after `step` steps."""
        with self._transaction():
            row = (step, kind, dump_text(text), time.time())
            self._db.execute("INSERT INTO events (step, kind, text, time) VALUES (?, ?, ?, ?)", row)

    def write_about(self, about: Mapping[str, Any]) -> None:
        """Write recipe.json: facts about the run, and versions of its software. Replaces an earlier file."""
        versions = {name: _version(name) for name in ("torch", "numpy", "transformers")}
        versions |= {"python": platform.python_version(), "handaxe": handaxe.__version__}
        with self._writing():
            text = json.dumps({**about, "versions": versions}, indent=1, default=str)
            write_atomic(self.folder / "recipe.json", text + "\n")

    def roll_back(self, steps: int) -> int:
        """Delete all steps after the first `steps`; returns the number of deleted steps. Events stay."""
        with self._transaction():
            (count,) = self._db.execute("SELECT count(*) FROM steps WHERE step >= ?", (steps,)).fetchone()
            for table in ("steps", "metrics", "groups"):
                self._db.execute(f"DELETE FROM {table} WHERE step >= ?", (steps,))
            self._db.execute("DELETE FROM evaluations WHERE step > ?", (steps,))
            delete_unshown(self._db)
        return count

    # --- reading -----------------------------------------------------------------------------------------------

    def steps(self) -> list[int]:
        """Return the recorded steps, in order."""
        with self._reading():
            return [step for (step,) in self._db.execute("SELECT step FROM steps ORDER BY step")]

    def groups(self, *, step: int | None = None, task: str | None = None) -> list[RecordedGroup]:
        """Read groups of one step or all, of one task id or all."""
        with self._reading():
            return read_groups(self._db, step=step, task=task, file=self._file)

    def group_of(self, trajectory: int) -> tuple[RecordedGroup, int]:
        """Read the group of a trajectory row, and the index within the group.

        Raises:
            InputError: there is no such row.
        """
        with self._reading():
            found = read_trajectory_group(self._db, trajectory, file=self._file)
        if found is None:
            raise InputError(
                f"the record in {self.folder} has no trajectory in row {trajectory}; search tells their rows"
            )
        return found

    def query(self, sql: str, *keys: int | float | str | bytes | None) -> list[tuple[Any, ...]]:
        """Run a SELECT; the tables are documented in training.record.schema, and have the record's format.

        Raises:
            InputError: the record is damaged, or has no such table.
        """
        with self._reading():
            return self._db.execute(sql, keys).fetchall()

    def function(self, name: str, of: Callable[..., int | float | str | None], *, arguments: int) -> None:
        """Register a deterministic function with this number of arguments for queries."""
        self._db.create_function(name, arguments, of, deterministic=True)

    def columns(self, table: str) -> frozenset[str]:
        """Return a table's columns in this record, which may have an older format."""
        return frozenset(name for (name,) in self.query("SELECT name FROM pragma_table_info(?)", table))

    def trajectories(self, *, step: int | None = None, task: str | None = None) -> list[Trajectory]:
        """Read trajectories of one step or all, of one task id or all, failures included."""
        return [trajectory for one in self.groups(step=step, task=task) for trajectory in one.played.group]

    def tasks(self) -> list[Task]:
        """Return all played tasks, each once, in the order of their first rollout."""
        rows = self._db.execute("SELECT task FROM groups GROUP BY task_id ORDER BY min(id)")
        images = image_source(self._db, self._file)
        return [load_record(Task, text, images) for (text,) in rows]

    def image(self, digest: str) -> StoredImage | None:
        """Read the media type and the encoded bytes of an image; None for an unknown digest."""
        with self._reading():
            there = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'images'").fetchone()
            return None if there is None else read_image(self._db, digest)

    def metrics(self) -> list[dict[str, float]]:
        """Return one dict per step, in order; each has the key "step"."""
        found: dict[int, dict[str, float]] = {step: {"step": float(step)} for step in self.steps()}
        with self._reading():
            for step, name, value in self._db.execute("SELECT step, name, value FROM metrics ORDER BY step, name"):
                if not isinstance(name, str):
                    raise TypeError(f"a metric of step {step} has the name {name!r}")
                if step in found:  # a run may have added a step meanwhile
                    found[step][name] = math.nan if value is None else float(value)
        return list(found.values())

    def evaluations(self) -> dict[int, dict[str, Any]]:
        """Return evaluation results by number of steps done."""
        with self._reading():
            rows = self._db.execute("SELECT * FROM evaluations ORDER BY step")
            return {step: dict(json.loads(text)) for step, text in rows}

    def events(self) -> list[Event]:
        """Return the run's events, in order."""
        with self._reading():
            rows = self._db.execute("SELECT step, kind, text, time FROM events ORDER BY id")
            return [Event(step, str(kind), load_text(text), float(at)) for step, kind, text, at in rows]

    def silent_channels(self) -> list[str]:
        """Return the reward channels that never differed between siblings, without turn channels; sorted."""
        with self._reading():
            return silent_channels(self._db)

    def about(self) -> dict[str, Any]:
        """Read recipe.json; {} if it was never written.

        Raises:
            InputError: the file is damaged.
        """
        path = self.folder / "recipe.json"
        try:
            found = json.loads(read_regular(path, limit=LARGEST_ABOUT)) if os.path.lexists(path) else {}
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} is damaged: {error}. Put it back as it was") from error
        if not isinstance(found, dict):
            raise InputError(f"{path} is damaged: it holds no JSON object. Put it back as it was")
        if exceeds_depth(found, MAX_NESTING):
            raise InputError(f"{path} is damaged: it nests deeper than {MAX_NESTING} levels. Put it back as it was")
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
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except HandaxeError:
            raise
        except (sqlite3.Error, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"the record in {self.folder} is damaged, or not a run record: {' '.join(why.split())}. Its checkpoints "
            "are separate files, and may be intact; train again in another folder"
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except HandaxeError:
            raise
        except sqlite3.IntegrityError as error:
            raise InputError(
                f"the record in {self.folder} already holds what was to be written ({error}): "
                "another run writes there; give each run a separate folder"
            ) from error
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"the record in {self.folder} cannot be written: {error}. Free some space or name another folder; "
                "every step recorded before is intact, so a run there can be resumed"
            ) from error


def _check_files(folder: Path) -> None:
    """Raise InputError for a record whose files are pipes or devices: SQLite would wait for them forever."""
    for path in record_files(folder):
        check_regular(path)


def _has_tables(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone() is not None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _json_number(value: Any) -> Any:
    """Convert numpy and torch numbers to plain ones, arrays to lists, everything else to text."""
    try:
        return value.tolist()
    except AttributeError:
        return str(value)
