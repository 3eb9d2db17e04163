"""Makes a tool whose replies come from a store: real ones that were kept, so that training asks the world once."""

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
from handaxe.core.records import ToolCall
from handaxe.ops.calls import call_key
from handaxe.tools.decorator import Tool
from handaxe.tools.schema import Billed
from handaxe.tools.text import as_bill

__all__ = ["Miss", "Use", "cached"]

Miss = Literal["live", "nearest", "error"]
Use = Literal["training", "evaluation"]

WAIT = 60.0
"""Seconds to wait for another process that writes."""
TABLES = """
CREATE TABLE IF NOT EXISTS about (use TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS replies (tool TEXT, arguments TEXT, kind TEXT, text TEXT, cost REAL, seconds REAL,
                                    PRIMARY KEY (tool, arguments));
"""


def _plain(text: str) -> str:
    """A text in lower case, with one space where there was any, and none at its ends."""
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
    """Make a tool that looks its reply up in a file, by name and normalised arguments.

        reply(x) = stored[key(x)]                    where there is one (a hit: the tool is not asked)
                 = tool(x), which is then stored     miss = "live"
                 = stored[nearest(x)]                miss = "nearest", where likeness(key(x), key) >= least
                 = "failed"                          miss = "error", or where nothing stored is near enough

    key(x) are the arguments with defaults filled in, every text in them normalised, in any order. likeness is the share
    of characters in matching blocks (`difflib`'s ratio) of two keys as JSON, in [0, 1]; of equally near ones the first
    by key is taken. What the tool returned is stored, and what it told the policy by raising Retry or Failed; a fault
    of the machinery is not. Arguments that do not fit are refused as ever.

    Args:
        tool: what is asked; it stays as it is. It should say the same to the same arguments, whoever asks.
        path: the file, made where there is none. Several tools, and processes, may share one.
        use: what its replies are for. A file says whose it is and refuses the other, so that what evaluation is asked
            of was never seen in training by way of it; give each a file of its own.
        miss: what happens where nothing is stored: "error" and "nearest" never ask the tool.
        least: how alike what is nearest has to be, 0 to 1.
        normalise: of every text in the arguments; `str` where case and spaces count.

    Returns:
        A Tool with the same name and schema. A reply from the store costs what the tool declares and billed, and has
        the seconds that it billed, or else those of looking up.

    Raises:
        InputError: a number or word out of range; a method, whose replies depend on its object; a tool with a way of
            its own to carry out calls; a file of the other use, or one that is no store.

    Example:
        trains(from="A", to="B") said "7:05"; trains(to=" b", from="a") is "7:05", and the tool is not asked
        trains(from="A", to="C"), least 0.8: nearest says "7:05" as well; error: "no reply is stored for trains(...)"

    Paper: arXiv:2509.21842 (DeepTravel), the sandbox.
    Unconfirmed: how arguments are normalised, and what a miss does.
    Differs: what is stored is never refreshed; delete the file for that.
    """
    if miss not in ("live", "nearest", "error") or use not in ("training", "evaluation") or not 0 <= least <= 1:
        raise InputError(
            f"cached has miss={miss!r}, use={use!r} and least={least}; give live, nearest or error, training or "
            "evaluation, and 0 to 1"
        )
    if tool.method or type(tool).prepare is not Tool.prepare:
        raise InputError(
            f"{tool!r} belongs to an object, or carries out calls in a way of its own: it cannot be cached"
        )
    return _CachedTool(tool, _Store(Path(path), use), miss, least, normalise)


class _Kept(NamedTuple):
    """What a tool once did: kind is ok, retry or failed."""

    kind: str
    text: str
    cost: float = 0.0
    seconds: float | None = None

    def again(self) -> Billed:
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

    def prepare(self, call: ToolCall, *, seed: int, tried: int = 0) -> Callable[[], Any]:
        """As of `Tool`, with the store asked first."""
        work = super().prepare(call, seed=seed, tried=tried)
        valid = self.definition.arguments.model_validate(dict(call.arguments)).model_dump(mode="json", by_alias=True)
        key = call_key(ToolCall(self.schema.name, _normal(valid, self._normalise)))
        return partial(self._later if self._async else self._now, work, key)

    def _now(self, work: Callable[[], Any], key: str) -> Billed:
        known = self._known(key)
        if known is None:
            with self._kept(key) as keep:
                return keep(work())
        return known.again()

    async def _later(self, work: Callable[[], Any], key: str) -> Billed:
        known = self._known(key)
        if known is None:
            with self._kept(key) as keep:
                return keep(await work())
        return known.again()

    def _known(self, key: str) -> _Kept | None:
        """What is said without asking the tool; None where it is to be asked."""
        name = self.schema.name
        found = self._store.get(name, key)
        if found is not None or self._miss == "live":
            return found
        if self._miss == "nearest" and (near := _nearest(key, self._store.keys(name), self._least)) is not None:
            return self._store.get(name, near)
        return _Kept("failed", f"no reply is stored for {name}({key}); ask something else")

    @contextmanager
    def _kept(self, key: str) -> Iterator[Callable[[Any], Billed]]:
        """Store what the tool does in this block."""
        name = self.schema.name

        def keep(value: Any) -> Billed:
            bill = as_bill(value)
            self._store.put(name, key, _Kept("ok", bill.value, bill.cost, bill.seconds))
            return bill

        try:
            yield keep
        except (Retry, Failed) as error:
            self._store.put(name, key, _Kept("retry" if isinstance(error, Retry) else "failed", str(error)))
            raise


class _Store:
    """Replies in a file of SQLite; opened for every look, so that threads and processes may share it."""

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
                f"{path} is no store of replies ({error}); name another file, or one to be made"
            ) from error
        if found is not None and found[0] != use:
            raise InputError(f"{path} holds replies for {found[0]}, not for {use}: give each a file of its own")

    def get(self, tool: str, key: str) -> _Kept | None:
        """What is stored of a call."""
        with self._open() as db:
            asked = "SELECT kind, text, cost, seconds FROM replies WHERE tool = ? AND arguments = ?"
            found = db.execute(asked, (tool, key)).fetchone()
        return None if found is None else _Kept(found[0], json.loads(found[1]), found[2], found[3])

    def keys(self, tool: str) -> list[str]:
        """Of a tool, sorted."""
        with self._open() as db:
            return [row[0] for row in db.execute("SELECT arguments FROM replies WHERE tool = ? ORDER BY 1", (tool,))]

    def put(self, tool: str, key: str, kept: _Kept) -> None:
        """Store a reply, unless another process did meanwhile: what was said first stays."""
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
