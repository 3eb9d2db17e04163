import sqlite3
from contextlib import closing

import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.tools.database.query_function import TIMED_OUT, query_function

ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"


@pytest.fixture
def towns(tmp_path):
    path = tmp_path / "towns.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table town (name text, year integer)")
        database.executemany("insert into town values (?, ?)", [("kemi", 1179), ("luta", 1300)])
    return path


def test_query_function_gives_the_example(towns):
    ask = query_function(towns)
    reply = ask("select year from town where name = 'kemi'")
    assert reply == {"columns": ["year"], "rows": [[1179]], "more": False}


def test_replies_are_cached_except_timeouts(towns):
    ask = query_function(towns, seconds=20)
    assert ask("select 1") is ask("select 1")
    assert "error" in ask("nonsense") and ask("nonsense") is ask("nonsense")
    hasty = query_function(towns, seconds=0.2)
    first, second = hasty(ENDLESS), hasty(ENDLESS)
    assert first["error"].startswith(TIMED_OUT) and first == second and first is not second


def test_file_is_not_changed(towns):
    before = towns.read_bytes()
    ask = query_function(towns)
    for sql in ("delete from town", f"attach database '{towns.parent / 'x.db'}' as x", "drop table town"):
        assert "not allowed" in ask(sql)["error"]
    assert towns.read_bytes() == before and sorted(towns.parent.iterdir()) == [towns]


def test_invalid_arguments_raise(towns, tmp_path):
    with pytest.raises(InputError, match="no database file"):
        query_function(tmp_path / "none.db")
    with pytest.raises(InputError, match="above 0"):
        query_function(towns, seconds=0)


def test_failed_start_is_infrastructure_error(towns):
    ask = query_function(towns)
    towns.unlink()
    with pytest.raises(InfrastructureError, match="cannot be started"):
        ask("select 1")


def test_replies_about_memory_are_not_cached(towns):
    ask = query_function(towns, seconds=20, memory=2**24)
    rows = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 100) "
    large = rows + "select zeroblob(900000) as b from c order by x desc"
    first, second = ask(large), ask(large)
    assert "too much memory" in first["error"] and first == second and first is not second


def test_cache_is_bounded(towns):
    ask = query_function(towns)
    first = ask("select 0")
    for number in range(1, 257):
        ask(f"select {number}")
    assert ask("select 0") == first and ask("select 0") is not first
