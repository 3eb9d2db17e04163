"""Questions to a database file in SQL, read-only by construction: sqlite or duckdb."""

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
"""Where in the file what stands."""


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
    """Make the tools `query(sql)` and `tables()` for one database file.

    The tools hold no state of a rollout: one pair serves any number of rollouts and threads. Queries run in worker
    processes that are kept from one query to the next, opened the file read-only, see no environment and may write no
    file at all; `handaxe.tools.database.worker` lists what a query cannot do and why. The file's bytes stay as they
    are. It must not be written by others meanwhile.

    A reply is a header, the rows, and their number: "name | year\\nkemi | 1179\\n(1 row)". NULL is NULL, a blob is
    x'0a0b'. A wrong query, one that would change something, and one that hits a limit are status "retry" with what the
    database says.

    Args:
        database: a sqlite or duckdb file; which one is read from its first bytes.
        seconds: of wall time a query may take, > 0; one that cannot be interrupted is killed a second later.
        rows: most rows shown, >= 1.
        max_chars: most characters of a reply, >= 100.
        memory: bytes a worker may take beyond what it takes idle, >= 64 MiB. Enforced where there is /proc (Linux).
        workers: queries that run at once, >= 1; others wait their turn, which does not count.
        cost: of one query.
        prefix: put before both tools' names, to tell two databases' tools apart.

    Returns:
        [query, tables], for `tool_chat([sql("towns.db")])`.

    Raises:
        InputError: no such file, of another kind or damaged, with changes not yet merged (a -wal file; open it once for
            writing and close it), an argument out of range, or duckdb is not installed.

    Example:
        query("select name, year from town where year < 1200") is "name | year\\nkemi | 1179\\n(1 row)";
        tables() is "town(name TEXT, year INTEGER)".
    """
    if not seconds > 0 or rows < 1 or max_chars < 100 or memory < 64 * 2**20 or workers < 1:
        raise InputError(
            "seconds must be above 0, rows and workers 1 or more, max_chars 100 or more and memory at least "
            f"{64 * 2**20} bytes; they are {seconds}, {rows}, {workers}, {max_chars} and {memory}"
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
            raise InputError(f"{str(log)!r} holds changes that are not in the database yet: open it once and close it")
    return kinds[0]
