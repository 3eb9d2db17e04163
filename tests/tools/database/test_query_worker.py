"""Behaviour inside the process; tests/tools/test_sql.py tests the limits from outside."""

import io
import json
import sqlite3
import subprocess
import sys

import pytest
from helpers import database_elements as elements

from handaxe.tools.database import query_worker as worker
from handaxe.tools.database.query_worker import DuckDatabase, SqliteDatabase, answer_query


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    if request.param == "sqlite":
        return SqliteDatabase(str(elements.write_sqlite(tmp_path / "e.db")))
    pytest.importorskip("duckdb")
    return DuckDatabase(str(elements.write_duckdb(tmp_path / "e.duckdb")), 2**28)


def ask(database, sql, seconds=5.0, rows=10, chars=10_000):
    return answer_query(database, sql, seconds=seconds, rows=rows, chars=chars)


def test_rows_are_limited(database):
    sql = "select number from element order by number"
    assert ask(database, sql, rows=3) == {"columns": ["number"], "rows": [[1], [2], [3]], "more": True}
    assert ask(database, sql, rows=20)["more"] is False and len(ask(database, sql, rows=20)["rows"]) == 20
    assert len(ask(database, sql, rows=100)["rows"]) == 20


def test_characters_are_limited(database):
    reply = ask(database, "select name from element order by number", chars=20)
    assert [row[0] for row in reply["rows"]] == ["hydrogen", "helium", "lithium"] and reply["more"]


def test_cell_values_are_converted_to_json_and_cut():
    values = [None, 1, 2.5, 2**80, b"\x0a" * 20, "x" * 400]
    assert [worker._cell(value) for value in values[:4]] == [None, 1, 2.5, str(2**80)]
    assert worker._cell(values[4]) == {"blob": "0a" * 16, "size": 20}
    assert worker._cell(values[5]) == "x" * 280 + "... (400 characters)"


def test_interrupt_hits_only_the_late_query(database):
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select max(x) from c"
    assert ask(database, endless, seconds=0.1)["error"] == "the query took longer than 0.1 seconds and was stopped"
    for _ in range(20):
        assert ask(database, "select 1 as a")["rows"] == [[1]]


def test_queries_leave_no_state(database):
    """A pragma, a temporary table or a seed would be seen by the next query of another rollout."""
    if isinstance(database, DuckDatabase):
        ask(database, "select setseed(0.5)")
        first = ask(database, "select random() as r")
        ask(database, "select setseed(0.5)")
        assert ask(database, "select random() as r") != first
    assert "error" in ask(database, "create temp table t as select 1")
    assert "error" in ask(database, "select * from t")


def test_invalid_utf8_is_replaced(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(x'ff41' AS TEXT) AS a")
    assert ask(SqliteDatabase(str(tmp_path / "a.db")), "select a from t")["rows"] == [["\ufffdA"]]


def test_protocol_answers_each_line(tmp_path):
    path = elements.write_sqlite(tmp_path / "e.db")
    settings = {"kind": "sqlite", "path": str(path), "memory": 2**28, "seconds": 1, "rows": 5, "chars": 100}
    lines = "\n".join(json.dumps(item) for item in (settings, {"sql": "select 1 as a"}, {"sql": "drop table element"}))
    command = [sys.executable, "-I", worker.__file__]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    ready, first, second = map(json.loads, done.stdout.splitlines())
    assert [name for name, _ in ready["ready"]] == ["ancient", "element"]
    assert first == {"columns": ["a"], "rows": [[1]], "more": False, "last": False}
    assert "the database can only be read" in second["error"]


def test_unreadable_file_is_an_error():
    sink = io.StringIO()
    worker.main(io.StringIO(json.dumps({"kind": "sqlite", "path": "/nonexistent/a.db", "memory": 2**28}) + "\n"), sink)
    assert "unable to open" in json.loads(sink.getvalue())["error"]
