"""Outcomes of steps on disk, for continuing a stopped synthesis."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.step import DraftOutcome

__all__ = ["Ledger"]

TABLE = """
CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, step TEXT NOT NULL, version INTEGER NOT NULL,
    draft TEXT NOT NULL, outcome TEXT NOT NULL) WITHOUT ROWID;
"""
MOST_KEYS = 500
"""Keys of one query."""


class Ledger:
    """Outcomes by key. A commit holds all outcomes of a call of a step, or no outcome.

    Args:
        path: of the SQLite file; its folder must exist.

    Raises:
        InputError: the file cannot be opened, or is no ledger.

    Example:
        Ledger(path).get(["unknown key"]) -> {}
    """

    def __init__(self, path: Path):
        try:
            self._table = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._table.execute("PRAGMA journal_mode=WAL")
            self._table.executescript(TABLE)
            self._table.execute("SELECT key, step, version, draft, outcome FROM outcomes LIMIT 0")
        except sqlite3.Error as error:
            raise InputError(
                f"the ledger {path} cannot be opened: {error}; remove it, or give another --out"
            ) from error

    def get(self, keys: Sequence[str]) -> dict[str, DraftOutcome]:
        """Known outcomes, by key."""
        found = dict[str, DraftOutcome]()
        for start in range(0, len(keys), MOST_KEYS):
            chosen = keys[start : start + MOST_KEYS]
            query = f"SELECT key, outcome FROM outcomes WHERE key IN ({','.join('?' * len(chosen))})"
            found |= {key: _outcome(json.loads(text)) for key, text in self._table.execute(query, chosen)}
        return found

    def put(self, rows: Sequence[tuple[str, str, int, str, DraftOutcome]]) -> None:
        """Store (key, step, version, draft id, outcome) in one transaction; known keys are unchanged."""
        ready = [(key, step, version, draft, json.dumps(_body(one))) for key, step, version, draft, one in rows]
        self._table.execute("BEGIN IMMEDIATE")
        try:
            self._table.executemany("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?, ?)", ready)
            self._table.execute("COMMIT")
        except BaseException:
            self._table.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file."""
        self._table.close()


def _body(outcome: DraftOutcome) -> dict[str, Any]:
    asked = [dict(one) for one in outcome.asked]
    return {"kept": [one.as_json() for one in outcome.kept], "reason": outcome.reason, "asked": asked}


def _outcome(found: Mapping[str, Any]) -> DraftOutcome:
    return DraftOutcome(tuple(map(SynthesisDraft.from_json, found["kept"])), found["reason"], tuple(found["asked"]))
