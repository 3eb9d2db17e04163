"""Read-only SQL tools for a sqlite or duckdb file.

Kept: users give a policy their own databases.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

from handaxe.core.errors import InputError, Retry
from handaxe.tools.database.client import QueryPool
from handaxe.tools.database.table import format_schema, format_table
from handaxe.tools.decorator import Tool, tool

__all__ = ["sql"]

MAGIC = {"sqlite": (0, b"SQLite format 3\x00"), "duckdb": (8, b"DUCK")}
"""Offset and magic bytes of each file format."""


def sql(
    database: str | Path,
    *,
    seconds: float = 5.0,
    rows: int = 20,
    max_chars: int = 4_000,
    memory: int = 256 * 2**20,
    workers: int = 2,
    cost: float = 0.0,
    prefix: str = "",
) -> list[Tool]:
    """Make the tools `query(sql)` and `tables()` for a database file.

    The tools hold no state of a rollout: one pair serves any number of rollouts and threads. Queries run in worker
    processes that are reused, open the file read-only, see no environment and may not write any file;
    `handaxe.tools.database.query_worker` lists the forbidden actions and their enforcement. The file's bytes do not
    change. Other programs must not write the file at the same time.

    A reply is a header, the rows, and their number: "name | year\\nkemi | 1179\\n(1 row)". NULL is NULL, a blob is
    x'0a0b'. A wrong query, a query that would change the database, and a query that hits a limit are status "retry"
    with the database's message.

    Args:
        database: path of the file; sqlite or duckdb, read from its first bytes.
        seconds: wall time of a query, > 0; a query that ignores the interrupt is killed a second later.
        rows: most rows shown, >= 1.
        max_chars: most characters of a reply, >= 100.
        memory: bytes of a worker beyond its idle memory, >= 64 MiB. Enforced on systems with /proc (Linux).
        workers: queries that run at once, >= 1; waiting for a worker does not count as query time.
        cost: of a query.
        prefix: before both tools' names, to tell two databases' tools apart.

    Returns:
        [query, tables], for `tool_chat([sql("towns.db")])`.

    Raises:
        InputError: the file is missing, of another kind or damaged, or has changes that are not yet merged (a -wal
            file; open the database once for writing and close it), an argument is out of range, or duckdb is not
            installed.

    Example:
        query("select name, year from town where year < 1200") is "name | year\\nkemi | 1179\\n(1 row)";
        tables() is "town(name TEXT, year INTEGER)".
    """
    if not seconds > 0 or rows < 1 or max_chars < 100 or memory < 64 * 2**20 or workers < 1:
        raise InputError(
            f"seconds, rows, workers, max_chars and memory are {seconds}, {rows}, {workers}, {max_chars} and {memory}; "
            f"give seconds above 0, rows and workers of 1 or more, max_chars of 100 or more, memory of {64 * 2**20} or "
            "more"
        )
    path = Path(database).resolve()
    settings = {"kind": _kind(path), "path": str(path), "memory": memory}
    pool = QueryPool({**settings, "seconds": seconds, "rows": rows, "chars": max_chars}, workers=workers)
    schema = format_schema(pool.schema)

    @tool(name=f"{prefix}query", timeout=None, max_chars=max_chars, cost=cost)
    def query(sql: Annotated[str, "one SELECT statement"]) -> str:
        """Read from the database with SQL."""
        reply = pool.query(sql)
        if "error" in reply:
            raise Retry(reply["error"])
        return format_table(reply["columns"], reply["rows"], more=reply["more"])

    @tool(name=f"{prefix}tables", timeout=None, max_chars=max_chars)
    def tables() -> str:
        """List the tables of the database with their columns and types."""
        return schema

    return [query, tables]


def _kind(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"there is no database file {str(path)!r}")
    with open(path, "rb") as file:
        start = file.read(64)
    kinds = [kind for kind, (offset, magic) in MAGIC.items() if start[offset:].startswith(magic)]
    if not kinds:
        raise InputError(f"{str(path)!r} is neither a sqlite nor a duckdb file")
    if kinds[0] == "duckdb" and importlib.util.find_spec("duckdb") is None:
        raise InputError("a duckdb file needs duckdb: install handaxe[sql]")
    for suffix in ("-wal", ".wal"):
        log = path.with_name(path.name + suffix)
        if log.exists() and log.stat().st_size:
            raise InputError(f"{str(log)!r} has changes that are not in the database: open it for writing and close it")
    return kinds[0]
