"""Tool wrapper with a file of recorded replies."""

from __future__ import annotations

import difflib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import Failed, InputError, Retry
from handaxe.core.images import Image
from handaxe.core.records import ToolCall
from handaxe.ops.tool_calls import call_key
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import Billed
from handaxe.tools.text import to_billed

__all__ = ["Miss", "Use", "cached"]

Miss = Literal["live", "nearest", "error"]
Use = Literal["training", "evaluation"]

WAIT = 60.0
"""Timeout in seconds for another process's write."""
TABLES = """
CREATE TABLE IF NOT EXISTS about (use TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS replies (tool TEXT, arguments TEXT, kind TEXT, text TEXT, cost REAL, seconds REAL,
                                    PRIMARY KEY (tool, arguments));
"""


def _plain(text: str) -> str:
    """Lower-case a text, and collapse white space."""
    return " ".join(text.split()).casefold()


def cached(
    tool: Tool,
    *,
    path: str | Path,
    use: Use,
    miss: Miss = "live",
    least: float = 0.8,
    normalise: Callable[[str], str] = _plain,
) -> Tool:
    """Make a tool with replies from a file, by name and normalised arguments.

        reply(x) = stored[key(x)]                    a hit: the tool is not called
                 = tool(x), which is then stored     miss = "live"
                 = stored[nearest(x)]                miss = "nearest", if likeness(key(x), key) >= least
                 = "failed"                          miss = "error", or without a near enough key

    key(x) has the arguments with defaults filled in and every text normalised, in any order. likeness is the share of
    characters in matching blocks (`difflib`'s ratio) of two keys as JSON, in [0, 1]; ties go to the first key. Stored
    are return values and errors for the policy (Retry, Failed); infrastructure faults are not. Invalid arguments are
    rejected before the lookup.

    Args:
        tool: wrapped tool, unchanged. Its replies should depend on the arguments alone.
        path: the file, created if missing. Several tools, and processes, may share it.
        use: purpose of the replies. A file has one purpose and rejects the other, so that evaluation replies are never
            seen in training; give each a separate file.
        miss: reaction to a missing reply; "error" and "nearest" never call the tool.
        least: minimum likeness of the nearest key, 0 to 1.
        normalise: of every text in the arguments; `str` if case and spaces matter.

    Returns:
        A Tool with the same name and schema. A reply from the file costs the declared and the billed amount, and takes
        the billed seconds, or else those of the lookup.

    Raises:
        InputError: a number or word out of range; a method, whose replies depend on its object; a tool with its own
            execution of calls; a file of the other purpose, or one that is no store.

    Example:
        trains(from="A", to="B") returned "7:05"; trains(to=" b", from="a") is "7:05" without a call of the tool
        trains(from="A", to="C"), least 0.8: nearest gives "7:05"; error: "no reply is stored for trains(...)"

    Paper: arXiv:2509.21842 (DeepTravel), the sandbox.
    Unconfirmed: the normalisation of arguments, and the reaction to a miss.
    Differs: stored replies are never refreshed; delete the file to refresh them.
    """
    if miss not in ("live", "nearest", "error") or use not in ("training", "evaluation") or not 0 <= least <= 1:
        raise InputError(
            f"cached has miss={miss!r}, use={use!r} and least={least}; give live, nearest or error, training or "
            "evaluation, and 0 to 1"
        )
    if tool.method or type(tool).prepare is not Tool.prepare or tool.definition.images:
        raise InputError(f"{tool!r} is a method, executes calls itself or takes images: it cannot be cached")
    return _CachedTool(tool, _Store(Path(path), use), miss, least, normalise)


class _StoredReply(NamedTuple):
    """Result of a past call: kind is ok, retry or failed."""

    kind: str
    text: str
    cost: float = 0.0
    seconds: float | None = None

    def replay(self) -> Billed:
        """Return or raise as the tool did."""
        if self.kind == "retry":
            raise Retry(self.text)
        if self.kind == "failed":
            raise Failed(self.text)
        return Billed(self.text, self.cost, self.seconds)


class _CachedTool(Tool):
    def __init__(self, tool: Tool, store: _Store, miss: Miss, least: float, normalise: Callable[[str], str]):
        vars(self).update(vars(tool))
        self._store = store
        self._miss = miss
        self._least = least
        self._normalise = normalise

    def prepare(
        self, call: ToolCall, *, seed: int, tried: int = 0, images: tuple[Image, ...] = ()
    ) -> Callable[[], Any]:
        """Prepare a call as `Tool` does, with a lookup first."""
        work = super().prepare(call, seed=seed, tried=tried, images=images)
        valid = self.definition.arguments.model_validate(dict(call.arguments)).model_dump(mode="json", by_alias=True)
        key = call_key(ToolCall(self.schema.name, _normal(valid, self._normalise)))
        return partial(self._later if self._async else self._now, work, key)

    def _now(self, work: Callable[[], Any], key: str) -> Billed:
        known = self._known(key)
        if known is None:
            with self._recording(key) as keep:
                return keep(work())
        return known.replay()

    async def _later(self, work: Callable[[], Any], key: str) -> Billed:
        known = self._known(key)
        if known is None:
            with self._recording(key) as keep:
                return keep(await work())
        return known.replay()

    def _known(self, key: str) -> _StoredReply | None:
        """Stored reply of a key; None if the tool must be called."""
        name = self.schema.name
        found = self._store.get(name, key)
        if found is not None or self._miss == "live":
            return found
        if self._miss == "nearest" and (near := _nearest(key, self._store.keys(name), self._least)) is not None:
            return self._store.get(name, near)
        return _StoredReply("failed", f"no reply is stored for {name}({key}); ask something else")

    @contextmanager
    def _recording(self, key: str) -> Iterator[Callable[[Any], Billed]]:
        """Store the tool's result of this block."""
        name = self.schema.name

        def keep(value: Any) -> Billed:
            bill = to_billed(value)
            if bill.value.images:
                raise InputError(f"{name} returned an image, and the file of replies holds text only")
            text = bill.value.text
            self._store.put(name, key, _StoredReply("ok", text, bill.cost, bill.seconds))
            return bill._replace(value=text)

        try:
            yield keep
        except (Retry, Failed) as error:
            self._store.put(name, key, _StoredReply("retry" if isinstance(error, Retry) else "failed", str(error)))
            raise


class _Store:
    """Replies in an SQLite file, opened for each access, for shared use by threads and processes."""

    def __init__(self, path: Path, use: Use):
        self._path = path
        try:
            with self._open() as db:
                db.executescript(TABLES)
                found = db.execute("SELECT use FROM about").fetchone()
                if found is None:
                    db.execute("INSERT INTO about VALUES (?)", (use,))
        except sqlite3.Error as error:
            raise InputError(
                f"{path} is no store of replies ({error}); give another path, or one that does not exist"
            ) from error
        if found is not None and found[0] != use:
            raise InputError(f"{path} holds replies for {found[0]}, not for {use}: give each a file of its own")

    def get(self, tool: str, key: str) -> _StoredReply | None:
        """Stored reply of a call."""
        with self._open() as db:
            query = "SELECT kind, text, cost, seconds FROM replies WHERE tool = ? AND arguments = ?"
            found = db.execute(query, (tool, key)).fetchone()
        return None if found is None else _StoredReply(found[0], json.loads(found[1]), found[2], found[3])

    def keys(self, tool: str) -> list[str]:
        """Keys of a tool, sorted."""
        with self._open() as db:
            return [row[0] for row in db.execute("SELECT arguments FROM replies WHERE tool = ? ORDER BY 1", (tool,))]

    def put(self, tool: str, key: str, kept: _StoredReply) -> None:
        """Store a reply, unless another process stored one before."""
        # As JSON, since a tool may return lone surrogates, which SQLite does not take.
        row = (tool, key, kept.kind, json.dumps(kept.text), kept.cost, kept.seconds)
        with self._open() as db:
            db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)", row)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=WAIT)) as db, db:
            yield db


def _normal(value: Any, normalise: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, Mapping):
        return {name: _normal(own, normalise) for name, own in value.items()}
    return [_normal(own, normalise) for own in value] if isinstance(value, list) else value


def _nearest(key: str, stored: list[str], least: float) -> str | None:
    best, found = least, None
    for other in stored:
        alike = difflib.SequenceMatcher(None, other, key, autojunk=False).ratio()
        if alike > best or (found is None and alike >= least):
            best, found = alike, other
    return found
