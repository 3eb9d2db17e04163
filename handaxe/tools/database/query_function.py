"""SQL queries with cells as results, for rewards that compare results.

Kept: a function as the tool of a user's own database.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.tools.database.client import OUT_OF_MEMORY, QueryPool

__all__ = ["QueryFunction", "TIMED_OUT", "query_function"]

QueryFunction = Callable[[str], dict[str, Any]]
"""SQL -> columns, rows and more, or error; see `handaxe.tools.database.query_worker.answer_query`."""
TIMED_OUT = "the query took longer"
"""Beginning of the reply to a query that was stopped: the next run of the query may differ."""


def query_function(
    database: str | Path,
    *,
    kind: Literal["sqlite", "duckdb"] = "sqlite",
    seconds: float = 5.0,
    rows: int = 1_000,
    chars: int = 100_000,
    memory: int = 256 * 2**20,
    workers: int = 1,
    remembered: int = 256,
) -> QueryFunction:
    """Make a function that answers queries in worker processes with read-only access to the file.

    The workers and their limits are those of `handaxe.tools.sql`. They start with the first query. Replies are cached,
    because the file does not change; replies about time or memory are not cached.

    Args:
        database: path of the file.
        kind: of the file.
        seconds: wall time of a query, > 0.
        rows: most rows of a result, >= 1; `more` is True if there are further rows.
        chars: most characters of all cells of a result; each cell has at most 300.
        memory: bytes of a worker beyond its idle memory.
        workers: queries that run at once.
        remembered: cached replies.

    Returns:
        A thread-safe function. It raises InfrastructureError if a worker cannot be started.

    Raises:
        InputError: the file is missing; an argument is out of range.

    Example:
        query_function("towns.db")("select year from town where name = 'kemi'")["rows"] is [[1179]]
    """
    path = Path(database).resolve()
    if not path.is_file():
        raise InputError(f"there is no database file {str(path)!r}")
    if not seconds > 0 or rows < 1 or chars < 1 or workers < 1:
        raise InputError(f"seconds, rows, chars and workers are {seconds}, {rows}, {chars} and {workers}; give above 0")
    settings = {"kind": kind, "path": str(path), "memory": memory, "seconds": seconds, "rows": rows, "chars": chars}

    @functools.cache
    def pool() -> QueryPool:
        try:
            return QueryPool(settings, workers=workers)
        except (InputError, OSError) as error:  # the arguments were valid when the function was made
            raise InfrastructureError(f"a database worker cannot be started: {error}") from error

    @functools.lru_cache(maxsize=remembered)
    def cached_query(sql: str) -> dict[str, Any]:
        reply = pool().query(sql)
        if str(reply.get("error", "")).startswith((TIMED_OUT, OUT_OF_MEMORY)):
            raise _UncachedError(reply)
        return reply

    def query(sql: str) -> dict[str, Any]:
        try:
            return cached_query(sql)
        except _UncachedError as uncached:
            return uncached.reply

    return query


class _UncachedError(Exception):
    """Keeps a reply out of the cache."""

    def __init__(self, reply: dict[str, Any]):
        super().__init__()
        self.reply = reply
