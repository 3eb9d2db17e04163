"""Worker process for read-only queries on a database file; may be killed at any time.

It imports nothing of handaxe and speaks JSON lines: the first input line is the settings, each further line a query; it
answers each query with a line. `handaxe.tools.database.client` starts it.

Forbidden actions of a query, and their enforcement:

    write the database      sqlite: mode=ro, immutable, query_only, and an authorizer that permits only reads;
                            duckdb: read_only, and only statements of type SELECT
    access another file     sqlite: ATTACH and VACUUM are not reads, no extensions; duckdb: enable_external_access is
                            off and the configuration locked; both: no file may grow (RLIMIT_FSIZE 0), so there are
                            neither temporary files nor dumps
    exhaust the memory      RLIMIT_AS, set once the database is open; values and statements have a maximal length
    run without end         the query is interrupted, and the process killed if it continues
    affect later queries    every duckdb query has a new connection; a read cannot change the state of a sqlite
                            connection
"""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

__all__ = ["DuckDatabase", "QueryError", "SqliteDatabase", "answer_query", "main", "open_database"]

MAX_SQL = 20_000
"""Characters of the longest statement."""
BLOB = 16
"""Bytes shown of a blob."""
READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
REFUSED = (
    "this is not allowed: the database can only be read. Write SELECT, WITH ... SELECT or VALUES, also after EXPLAIN; "
    "nothing that changes data, tables, transactions or settings, and no PRAGMA"
)
FORBIDDEN = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL * 4,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
"""Limits of sqlite: bytes of a value, bytes of a statement, and so on."""


class QueryError(Exception):
    """The query is invalid or too expensive; the message is for its author."""


class SqliteDatabase:
    """Open sqlite file."""

    def __init__(self, path: str):
        self.connection = sqlite3.connect(
            Path(path).resolve().as_uri() + "?mode=ro&immutable=1", uri=True, isolation_level=None
        )
        for pragma in ("query_only=on", "trusted_schema=off", "temp_store=memory", "cell_size_check=on"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.text_factory = lambda raw: raw.decode(errors="replace")
        self.schema = self._schema()
        for limit, value in LIMITS.items():
            self.connection.setlimit(limit, value)
        self.connection.set_authorizer(_allow)

    def _schema(self) -> list[tuple[str, list[tuple[str, str]]]]:
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY name"
        ).fetchall()
        columns = "SELECT name, type FROM pragma_table_info(?) ORDER BY cid"
        return [(name, self.connection.execute(columns, (name,)).fetchall()) for (name,) in names]

    def run(self, sql: str) -> tuple[Callable[[], Any], Callable[[], None], Callable[[], Any]]:
        """Return three functions: execute, interrupt, and fetch the next row or None."""
        cursor = self.connection.cursor()

        def execute() -> list[str]:
            try:
                cursor.execute(sql)
            except sqlite3.DatabaseError as error:
                if str(error) in ("not authorized", "authorization denied"):  # refused by the authorizer
                    raise QueryError(REFUSED) from None
                raise
            return [column[0] for column in cursor.description or ()]

        return execute, self.connection.interrupt, cursor.fetchone


class DuckDatabase:
    """Open duckdb file."""

    def __init__(self, path: str, memory: int):
        import duckdb

        self.duckdb = duckdb
        self.connection = duckdb.connect(
            path,
            read_only=True,
            config={
                "threads": "1",
                "memory_limit": f"{memory // 2**21}MiB",  # the other half is what duckdb does not count
                "temp_directory": "",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
            },
        )
        # In this order, and after the other settings: each of them can forbid later ones.
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")
        found: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in self.connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
            "ORDER BY table_name, column_index"
        ).fetchall():
            found.setdefault(table, []).append((column, kind))
        self.schema = list(found.items())

    def run(self, sql: str) -> tuple[Callable[[], Any], Callable[[], None], Callable[[], Any]]:
        """Return three functions: execute, interrupt, and fetch the next row or None."""
        cursor = self.connection.cursor()

        def execute() -> list[str]:
            statements = self.duckdb.extract_statements(sql)
            if len(statements) != 1:
                raise QueryError(f"there are {len(statements)} statements: send one at a time")
            if statements[0].type != self.duckdb.StatementType.SELECT:
                raise QueryError(f"this is {statements[0].type.name}; only SELECT is allowed")
            # Streamed, so that a result of a billion rows is not materialized for its first rows.
            cursor.execute(statements[0])
            return [column[0] for column in cursor.description or ()]

        return execute, cursor.interrupt, cursor.fetchone


def open_database(kind: str, path: str, *, memory: int) -> SqliteDatabase | DuckDatabase:
    """Open the file read-only, then limit this process.

    Args:
        kind: sqlite or duckdb.
        path: of the file.
        memory: bytes of the process beyond its memory after opening the file.
    """
    database = SqliteDatabase(path) if kind == "sqlite" else DuckDatabase(path, memory)
    # Threads and caches of the first query do not count against its memory limit.
    answer_query(database, "SELECT count(*) FROM (SELECT 1 UNION SELECT 2)", seconds=10.0, rows=1, chars=100)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if now := _address_space():
        resource.setrlimit(resource.RLIMIT_AS, (now + memory, now + memory))
    return database


def _address_space() -> int:
    """Measure the address space of this process in bytes; 0 on systems without /proc."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0


def answer_query(
    database: SqliteDatabase | DuckDatabase, sql: str, *, seconds: float, rows: int, chars: int
) -> dict[str, Any]:
    """Answer a query.

    Args:
        sql: a single statement.
        seconds: until the interrupt.
        rows: most returned rows.
        chars: most characters of all returned cells; each cell has at most 300.

    Returns:
        columns, rows (of null, numbers, texts and {"blob": hexadecimal digits, "size": bytes}) and more, True if there
        are further rows. Or error: the database's message.
    """
    if len(sql) > MAX_SQL:
        return {"error": f"the statement has {len(sql)} characters, the limit is {MAX_SQL}"}
    execute, interrupt, next_row = database.run(sql)
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        interrupt()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        columns = [_text(name) for name in execute()]
        if not columns:
            raise QueryError("the statement gives no rows; write a SELECT")
        found: list[list[Any]] = []
        left, row = chars - sum(map(len, columns)), next_row()
        while row is not None and len(found) < rows and left > 0:
            found.append([_cell(value) for value in row])
            left -= sum(len(str(cell)) for cell in found[-1])
            row = next_row()
        return {"columns": columns, "rows": found, "more": row is not None}
    except QueryError as error:
        return {"error": str(error)}
    except Exception as error:
        if expired.is_set():
            return {"error": f"the query took longer than {seconds:g} seconds and was stopped"}
        if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
            return {"error": "the query needs too much memory"}
        return {"error": f"{type(error).__name__}: {str(error)[:1000]}"}
    finally:
        timer.cancel()
        timer.join()  # a late interrupt would hit the next query


def _allow(action: int, first: str | None, second: str | None, base: str | None, trigger: str | None) -> int:
    del first, base, trigger
    if action not in READS or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FORBIDDEN):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, int | float) and abs(value) < 2**70):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return {"blob": bytes(value[:BLOB]).hex(), "size": len(value)}
    return _text(value)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 300 else f"{text[:280]}... ({len(text)} characters)"


def main(source: TextIO, sink: TextIO) -> None:
    """Serve queries until the end of the input.

    The first output line is {"ready": schema} or {"error": message}; further lines are results of `answer_query` with
    `last`, True if the worker should be replaced before the next query.
    """
    settings = json.loads(source.readline())
    try:
        database = open_database(settings["kind"], settings["path"], memory=settings["memory"])
        full = _address_space() + settings["memory"] // 4
        _send(sink, {"ready": database.schema})
    except Exception as error:
        _send(sink, {"error": f"{type(error).__name__}: {error}"})
        return
    for line in source:
        request = json.loads(line)
        seconds = settings["seconds"]
        rows = settings["rows"]
        chars = settings["chars"]
        reply = answer_query(database, request["sql"], seconds=seconds, rows=rows, chars=chars)
        # Memory that a query leaks is missing for the next query.
        _send(sink, {**reply, "last": _address_space() > full})


def _send(sink: TextIO, reply: Any) -> None:
    sink.write(json.dumps(reply) + "\n")
    sink.flush()


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
