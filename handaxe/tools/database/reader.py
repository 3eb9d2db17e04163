"""Asks a database file questions in SQL and gives cells back, for what compares results instead of showing them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.tools.database.client import MUCH, QueryPool

__all__ = ["Ask", "LATE", "reader"]

Ask = Callable[[str], dict[str, Any]]
"""SQL -> columns, rows and more, or error; see `handaxe.tools.database.worker.answer_query`."""
LATE = "the query took longer"
"""How the reply to a query begins that was stopped: one that may differ when asked again."""


def reader(
    database: str | Path,
    *,
    kind: Literal["sqlite", "duckdb"] = "sqlite",
    seconds: float = 5.0,
    rows: int = 1_000,
    chars: int = 100_000,
    memory: int = 256 * 2**20,
    workers: int = 1,
    remembered: int = 256,
) -> Ask:
    """Make a function that answers queries in worker processes, which open the file read-only.

    The workers are those of `handaxe.tools.sql`, with its limits. They are started with the first query. What the file
    answered is remembered, since it does not change; what took too long or too much memory is asked again.

    Args:
        database: path of the file.
        kind: of the file.
        seconds: of wall time that a query may take, > 0.
        rows: most rows of a result, >= 1; `more` says that there were further ones.
        chars: most characters that the cells of a result hold together; each holds 300 at most.
        memory: bytes a worker may take beyond what it takes idle.
        workers: queries that run at once.
        remembered: replies that are kept.

    Returns:
        A function of any thread. It raises InfrastructureError where a worker cannot be started.

    Raises:
        InputError: there is no such file; an argument out of range.

    Example:
        reader("towns.db")("select year from town where name = 'kemi'")["rows"] is [[1179]]
    """
    path = Path(database).resolve()
    if not path.is_file():
        raise InputError(f"there is no database file {str(path)!r}")
    if not seconds > 0 or rows < 1 or chars < 1 or workers < 1:
        raise InputError(f"seconds, rows, chars and workers are above 0: {seconds}, {rows}, {chars} and {workers}")
    settings = {"kind": kind, "path": str(path), "memory": memory, "seconds": seconds, "rows": rows, "chars": chars}

    @functools.cache
    def pool() -> QueryPool:
        try:
            return QueryPool(settings, workers=workers)
        except (InputError, OSError) as error:  # it was found in order when the function was made
            raise InfrastructureError(f"a database worker cannot be started: {error}") from error

    @functools.lru_cache(maxsize=remembered)
    def settled(sql: str) -> dict[str, Any]:
        reply = pool().query(sql)
        if str(reply.get("error", "")).startswith((LATE, MUCH)):
            raise _UnsettledError(reply)
        return reply

    def ask(sql: str) -> dict[str, Any]:
        try:
            return settled(sql)
        except _UnsettledError as other:
            return other.reply

    return ask


class _UnsettledError(Exception):
    """Keeps a reply from being remembered."""

    def __init__(self, reply: dict[str, Any]):
        super().__init__()
        self.reply = reply
