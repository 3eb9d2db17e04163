"""Questions and answers on disk, so that a frozen model answers a question once, and for display."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from handaxe.asking.ask import Ask, AskAnswer, Spent
from handaxe.core.errors import InputError

if TYPE_CHECKING:
    from handaxe.asking.desk import AskRecord

__all__ = ["AnswerStore", "StoredCall", "read_calls"]

TABLES = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, question TEXT NOT NULL, text TEXT NOT NULL,
    labels TEXT NOT NULL, read INTEGER NOT NULL, written INTEGER NOT NULL, seconds REAL NOT NULL, cost REAL NOT NULL,
    by TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS calls (step INTEGER NOT NULL, role TEXT NOT NULL, prompt TEXT NOT NULL, key TEXT NOT NULL,
    trajectory TEXT NOT NULL, turn INTEGER NOT NULL, item TEXT NOT NULL, value TEXT NOT NULL, failure TEXT NOT NULL,
    cached INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS calls_of_trajectories ON calls (trajectory);
"""
ANSWER = "text, labels, read, written, seconds, cost, by"


class StoredCall(NamedTuple):
    """A recorded question with its answer.

    step      of training
    about     (trajectory id, turn, criterion)
    question  messages, a line "ROLE: TEXT" each; "" for a question without an answer
    value     as read from the answer, None for a failure
    """

    step: int
    role: str
    prompt: str
    about: tuple[str, int, str]
    question: str
    value: object
    failure: str
    cached: bool
    answer: AskAnswer


class AnswerStore:
    """Answers by key, and the calls of each step. Several processes may write; the first answer of a key stays.

    Args:
        path: of the SQLite file; its folder must exist.
        reads: False stores answers for display alone, such as answers of a changing model: `get` finds none.

    Raises:
        InputError: the file cannot be opened, or is no store of answers.
    """

    def __init__(self, path: Path, *, reads: bool = True):
        self._lock = threading.Lock()
        self._reads = reads
        try:
            self._table = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
            _prepare(self._table, seconds=60)
            self._table.execute(f"SELECT key, question, {ANSWER} FROM answers LIMIT 0")
        except sqlite3.Error as error:
            raise InputError(
                f"the store of answers {path} cannot be opened: {error}; remove it, or name another"
            ) from error

    def get(self, keys: Sequence[str]) -> dict[str, AskAnswer]:
        """Known answers, by key."""
        found = {}
        with self._lock:
            for key in keys if self._reads else ():
                row = self._table.execute(f"SELECT {ANSWER} FROM answers WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = _answer(row, cached=True)
        return found

    def put(self, answers: Sequence[tuple[str, Ask, AskAnswer]]) -> None:
        """Store answers with the questions; failures are left out."""
        rows = [
            (key, _question(ask), one.text, json.dumps(dict(one.label_logp)), *one.spent, one.by)
            for key, ask, one in answers
            if not one.failure
        ]
        self._write("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def note(self, calls: Sequence[AskRecord], *, step: int) -> None:
        """Store the calls of a step, and remove calls of this and later steps, from before an interruption."""
        rows = list[tuple[object, ...]]()
        for one in calls:
            failure = one.answer.failure or ("unreadable" if one.value is None else "")
            where = (step, one.role, one.prompt, one.key, *one.about)
            rows.append((*where, json.dumps(one.value), failure, one.answer.cached))
        self._write("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows, drop=step)

    def calls(self, *, trajectory: str | None = None, step: int | None = None) -> list[StoredCall]:
        """Recorded calls, of one trajectory or step or all, in order."""
        with self._lock:
            return _select(self._table, trajectory=trajectory, step=step)

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]], *, drop: int | None = None) -> None:
        with self._lock:
            self._table.execute("BEGIN IMMEDIATE")
            if drop is not None:
                self._table.execute("DELETE FROM calls WHERE step >= ?", (drop,))
            self._table.executemany(statement, rows)
            self._table.execute("COMMIT")

    def __len__(self) -> int:
        """Number of answers."""
        with self._lock:
            return int(self._table.execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._table.close()


def _prepare(table: sqlite3.Connection, *, seconds: float) -> None:
    """Write-ahead log and tables. SQLite ignores its timeout here: of two first openings, one fails at once."""
    until = time.monotonic() + seconds
    while True:
        try:
            table.execute("PRAGMA journal_mode=WAL")
            table.executescript(TABLES)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def read_calls(path: Path, *, trajectory: str | None = None, step: int | None = None) -> list[StoredCall]:
    """Read recorded calls, also while a run writes. Writes nothing.

    Raises:
        InputError: the file is no store of answers.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True, timeout=30)) as table:
            return _select(table, trajectory=trajectory, step=step)
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise InputError(f"the store of answers {path} cannot be read: {error}") from error


def _select(table: sqlite3.Connection, *, trajectory: str | None, step: int | None) -> list[StoredCall]:
    given = {name: value for name, value in (("trajectory", trajectory), ("step", step)) if value is not None}
    where = " AND ".join(f"calls.{name} = :{name}" for name in given) or "1"
    columns = "step, role, prompt, trajectory, turn, item, value, failure, cached, question"
    query = f"SELECT {columns}, {ANSWER} FROM calls LEFT JOIN answers USING (key) WHERE {where} ORDER BY calls.rowid"
    return [_stored(row) for row in table.execute(query, given).fetchall()]


def _stored(row: Sequence[object]) -> StoredCall:
    step, role, prompt, trajectory, turn, item, value, failure, cached, question, *answer = row
    found = AskAnswer(failure="unavailable") if answer[0] is None else _answer(answer, cached=bool(cached))
    about = (str(trajectory), int(str(turn)), str(item))
    return StoredCall(
        int(str(step)),
        str(role),
        str(prompt),
        about,
        str(question or ""),
        json.loads(str(value)),
        str(failure),
        bool(cached),
        found,
    )


def _question(ask: Ask) -> str:
    return "\n".join(f"{one.role}: {one.content}" for one in ask.prompt.render(ask.fields))


def _answer(row: Sequence[object], *, cached: bool) -> AskAnswer:
    text, labels, *spent, by = row
    return AskAnswer(str(text), json.loads(str(labels)), Spent(*spent), str(by), cached=cached)  # type: ignore[arg-type]
