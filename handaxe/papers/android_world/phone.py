"""Phone with four apps in a database: lists of keys and values, of which a screen shows a part."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool

__all__ = ["APPS", "PAGE", "Phone", "Row"]

APPS = ("contacts", "events", "notes", "settings")
PAGE = 3
"""Rows of a screen."""
Row = tuple[str, str]
"""Key and value."""


class Phone:
    """Apps of a phone, with tools for the open app.

    The state is a SQLite database in memory. Rows are shown in the order of their insertion. Only a row on the screen
    can be changed or deleted.

    Example:
        after fill("notes", [("512", "1111")]): open("notes") is "512 1111, end", and set("512 5526") is "ok"

    Paper: arXiv:2405.14573 (AndroidWorld), apps with a state that decides success.
    Differs: four lists in a database replace the emulator; screens are texts.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        self._base.execute("CREATE TABLE rows (app TEXT, key TEXT, value TEXT)")
        self._app = ""
        self._first = 0

    def fill(self, app: str, rows: Iterable[Row]) -> None:
        """Replace the rows of an app."""
        self._base.execute("DELETE FROM rows WHERE app = ?", (app,))
        self._base.executemany("INSERT INTO rows VALUES (?, ?, ?)", [(app, *row) for row in rows])

    def rows(self, app: str) -> list[Row]:
        """Rows of an app, in order."""
        found = self._base.execute("SELECT key, value FROM rows WHERE app = ? ORDER BY rowid", (app,))
        return [(str(key), str(value)) for key, value in found]

    def clear(self) -> None:
        """Delete all rows and close the app."""
        self._base.execute("DELETE FROM rows")
        self._app = ""
        self._first = 0

    @tool(timeout=None)
    def open(self, app: Annotated[str, "contacts, events, notes or settings"]) -> str:
        """Open an app; the reply is the first screen."""
        if app.strip() not in APPS:
            raise Retry(f"no app {app[:40]!r}: open one of {', '.join(APPS)}")
        self._app = app.strip()
        self._first = 0
        return self._screen()

    @tool(timeout=None)
    def scroll(self, way: Annotated[str, "down or up"]) -> str:
        """Show the next or the previous rows."""
        self._open_app()
        last = max(len(self.rows(self._app)) - 1, 0) // PAGE * PAGE
        step = PAGE if way.strip() == "down" else -PAGE
        self._first = min(max(self._first + step, 0), last)
        return self._screen()

    @tool(timeout=None)
    def add(self, row: Annotated[str, "key and value"]) -> str:
        """Add a row at the end."""
        key, value = _pair(row)
        self._base.execute("INSERT INTO rows VALUES (?, ?, ?)", (self._open_app(), key, value))
        return "ok"

    @tool(timeout=None)
    def set(self, row: Annotated[str, "key of the screen, and new value"]) -> str:
        """Change the value of a row on the screen."""
        key, value = _pair(row)
        self._base.execute("UPDATE rows SET value = ? WHERE app = ? AND key = ?", (value, self._app, self._shown(key)))
        return "ok"

    @tool(timeout=None)
    def delete(self, key: Annotated[str, "of the screen"]) -> str:
        """Delete a row on the screen."""
        self._base.execute("DELETE FROM rows WHERE app = ? AND key = ?", (self._app, self._shown(key.strip())))
        return "ok"

    def report(self) -> dict[str, Any]:
        """Open app, keys on the screen, and whether rows follow."""
        shown = self._visible()
        more = self._first + PAGE < len(self.rows(self._app))
        return {"app": self._app, "visible": [key for key, _ in shown], "more": more}

    def snapshot(self) -> tuple[bytes, str, int]:
        """Database, open app and position."""
        self._base.commit()
        return bytes(self._base.serialize()), self._app, self._first

    def restore(self, state: tuple[bytes, str, int]) -> None:
        """Restore a snapshot."""
        data, self._app, self._first = state
        self._base.commit()
        self._base.deserialize(data)

    def _open_app(self) -> str:
        if not self._app:
            raise Retry("no app is open: call open with an app")
        return self._app

    def _visible(self) -> list[Row]:
        return self.rows(self._app)[self._first : self._first + PAGE]

    def _screen(self) -> str:
        rows = [" ".join(row) for row in self._visible()]
        more = self._first + PAGE < len(self.rows(self._app))
        return ", ".join([*rows, "more" if more else "end"])

    def _shown(self, key: str) -> str:
        self._open_app()
        if key not in [shown for shown, _ in self._visible()]:
            raise Retry(f"no row {key[:40]!r} on the screen: scroll, or open the app")
        return key


def _pair(row: str) -> Row:
    words = row.split()
    if len(words) != 2 or len(row) > 80:
        raise Retry("a row is a key and a value, such as 512 5526")
    return words[0], words[1]
