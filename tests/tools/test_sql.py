"""SQL tools on a real database of chemical elements, and hostile queries."""

import hashlib
import re
import resource
import sqlite3
import threading

import pytest
from helpers import database_elements as elements

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing.tools import check_env, check_tool
from handaxe.tools.sql import sql

KINDS = ["sqlite", "duckdb"]


def make(kind, folder):
    if kind == "duckdb":
        pytest.importorskip("duckdb")
        return elements.write_duckdb(folder / "elements.duckdb")
    return elements.write_sqlite(folder / "elements.db")


@pytest.fixture(scope="module", params=KINDS)
def database(request, tmp_path_factory):
    return make(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def tools(database):
    return sql(database, seconds=1.0, rows=5, max_chars=1500)


def ask(tool, text):
    reply = tool.run(ToolCall("query", {"sql": text}, "c0"))
    return reply.status, reply.content


def test_query_and_tables_give_the_examples(tmp_path):
    with sqlite3.connect(tmp_path / "towns.db") as connection:
        connection.execute("CREATE TABLE town (name TEXT, year INTEGER)")
        connection.executemany("INSERT INTO town VALUES (?, ?)", [("kemi", 1179), ("luta", 1300)])
    query, tables = sql(tmp_path / "towns.db")
    assert query("select name, year from town where year < 1200") == "name | year\nkemi | 1179\n(1 row)"
    assert tables() == "town(name TEXT, year INTEGER)"


def test_analytic_queries_are_answered(tools):
    query, tables = tools
    check_tool(query, arguments={"sql": "select 1"})
    check_tool(tables, arguments={})
    assert query("select name from element where symbol = 'Fe'") == "name\niron\n(1 row)"
    assert query("select count(*) as n, max(number) as last from element") == "n | last\n20 | 79\n(1 row)"
    assert query("select name from ancient order by 1") == "name\ncarbon\ngold\niron\nsulfur\n(4 rows)"
    lightest = "with a as (select * from element where mass < 10) select symbol, mass from a order by mass desc"
    shown = query(lightest).splitlines()
    assert shown[1].split(" | ") == ["Be", "9.0122"] and shown[-1] == "(4 rows)"
    assert query("select discovered from element where number in (6, 7) order by number").split("\n")[1:3] == [
        "NULL",
        "1772",
    ]
    names = tables().splitlines()
    assert names[0].startswith("ancient(name") and names[1].startswith("element(number INTEGER, symbol ")
    assert query("select symbol from element").endswith("\n(the first 5 rows; there are more)")
    assert query("select symbol from element where false") == "symbol\n(0 rows)"


def test_wrong_query_is_retry_with_the_database_message(tools):
    query, _ = tools
    for text, said in {
        "select nome from element": "nome",
        "select * from elements": "elements",
        "selec 1": "selec",
        "": "",
        "-- nothing": "",
        "select 1; select 2": "one",
        "drop table element": "",
        "x" * 30_000: "30000 characters, the limit is 20000",
    }.items():
        status, content = ask(query, text)
        assert status == "retry" and content and said in content, (text[:40], content)


def test_writing_query_is_retry_with_the_allowed_statements(database, tools):
    query, _ = tools
    said = r"only SELECT is allowed$" if database.suffix == ".duckdb" else r"only be read. Write SELECT, .* no PRAGMA$"
    for text in (
        "delete from element",
        "insert into element values (0, '', '', 0, 0)",
        "drop table element",
        "attach ':memory:' as x",
        "vacuum",
        "begin",
        "pragma table_info(element)",
        "with a as (select 1) delete from element",
        "explain delete from element",
    ):
        status, content = ask(query, text)
        assert status == "retry" and re.search(said, content) and "Error" not in content, (text, content)
    assert ask(query, "values (1), (2)")[1].endswith("\n1\n2\n(2 rows)")


def test_sqlite_and_duckdb_accept_the_statements_of_the_docs_page(database, tools):
    """As docs/tool_box.md says."""
    query, _ = tools
    duck = database.suffix == ".duckdb"
    for text in ("explain select 1", "explain query plan select * from element"):
        assert ask(query, text)[0] == ("retry" if duck else "ok")
    for text in ("describe element", "show tables", "summarize element"):
        assert ask(query, text)[0] == ("ok" if duck else "retry")


def test_forbidden_function_is_named(tmp_path):
    query, _ = sql(elements.write_sqlite(tmp_path / "a.db"))
    assert ask(query, "select load_extension('x')") == (
        "retry",
        "OperationalError: not authorized to use function: load_extension",
    )


def test_unusual_values_are_formatted(tools):
    query, _ = tools
    assert query("select 'a\nb|c\\' as t, 'NULL' as n") == "t | n\na\\nb\\|c\\\\ | 'NULL'\n(1 row)"
    assert query("select 'h\u00e9\u4e2d' as t") == "t\nh\u00e9\u4e2d\n(1 row)"
    assert ask(query, "select '\ud800'")[0] in ("ok", "retry")
    assert "(400 characters)" in query(f"select '{'y' * 400}' as t")


def test_blobs_are_formatted(tmp_path):
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute("CREATE TABLE b (v)")
    query, _ = sql(tmp_path / "b.db")
    assert query("select x'0a0b' as v, zeroblob(100) as w").split("\n")[1] == f"x'0a0b' | x'{'00' * 16}...' (100 bytes)"


CROSS = " cross join ".join(f"element e{i}" for i in range(12))
HOSTILE = {
    "sqlite": [
        "ATTACH DATABASE '{dir}/new.db' AS x",
        "ATTACH ':memory:' AS x",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO '{dir}/copy.db'",
        "PRAGMA writable_schema=1",
        "PRAGMA query_only=0",
        "PRAGMA journal_mode=WAL",
        "PRAGMA temp_store_directory='{dir}'",
        "PRAGMA hard_heap_limit=1",
        "PRAGMA user_version=7",
        "SELECT * FROM pragma_query_only",
        "SELECT * FROM pragma_database_list",
        "INSERT INTO element VALUES (0, '', '', 0, 0)",
        "UPDATE element SET name = 'x'",
        "DELETE FROM element",
        "REPLACE INTO element VALUES (0, '', '', 0, 0)",
        "WITH a AS (SELECT 1) DELETE FROM element",
        "DELETE FROM element RETURNING *",
        "DROP TABLE element",
        "ALTER TABLE element RENAME TO e",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TEMP TRIGGER g AFTER INSERT ON element BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "CREATE INDEX i ON element (name)",
        "REINDEX",
        "ANALYZE",
        "BEGIN EXCLUSIVE",
        "COMMIT",
        "SAVEPOINT s",
        "SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('{dir}/w', 'x')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT edit('x', 'sh')",
        "SELECT 1; DELETE FROM element",
        "SELECT 1 /* ; */ ; /* x */ DROP TABLE element; --",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT group_concat(randomblob(9)) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT x FROM c ORDER BY x DESC",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT zeroblob(90000) FROM c ORDER BY x",
        f"SELECT count(*) FROM {CROSS}",
        f"SELECT DISTINCT e0.name || random() FROM {CROSS} ORDER BY 1",
        "SELECT zeroblob(2000000000)",
        "SELECT randomblob(1000000000)",
        "SELECT printf('%.*c', 2000000000, 'x')",
        "SELECT replace(hex(zeroblob(400000)), '0', hex(zeroblob(400000)))",
        "SELECT 'a' LIKE '" + "%a" * 300 + "'",
        "SELECT " + "(" * 2000 + "1" + ")" * 2000,
        "SELECT " + "-" * 3 + "1 UNION SELECT 1" * 2,
        "\u200bSELECT 1",
        "SELECT \uff11 FROM element WHERE \u2028",
        "SELECT\x00 1",
    ],
    "duckdb": [
        "ATTACH '{dir}/new.duckdb' AS x",
        "ATTACH ':memory:' AS x",
        "DETACH elements",
        "USE memory",
        "VACUUM",
        "CHECKPOINT",
        "PRAGMA database_list",
        "PRAGMA enable_external_access",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '100GB'",
        "SET temp_directory = '{dir}'",
        "RESET threads",
        "SET VARIABLE x = 1",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '/lib/x86_64-linux-gnu/libc.so.6'",
        "INSERT INTO element VALUES (0, '', '', 0, 0)",
        "UPDATE element SET name = 'x'",
        "DELETE FROM element",
        "WITH a AS (SELECT 1) DELETE FROM element",
        "TRUNCATE element",
        "DROP TABLE element",
        "ALTER TABLE element RENAME TO e",
        "CREATE TABLE t (a INTEGER)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE TEMP MACRO f(a) AS a + 1",
        "CREATE SECRET s (TYPE S3, KEY_ID 'a', SECRET 'b')",
        "CREATE SEQUENCE q",
        "BEGIN",
        "COMMIT",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "COPY element TO '{dir}/out.csv'",
        "COPY (SELECT 1) TO '/dev/stderr'",
        "COPY element FROM '/etc/passwd'",
        "EXPORT DATABASE '{dir}/export'",
        "IMPORT DATABASE '{dir}'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM read_json('http://127.0.0.1/')",
        "SELECT * FROM read_parquet('https://example.com/a.parquet')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM query('DROP TABLE element')",
        "SELECT getenv('HOME')",
        "EXPLAIN ANALYZE COPY element TO '{dir}/out.csv'",
        "SELECT 1; DELETE FROM element",
        "SELECT 1 /* ; */ ; /* x */ DROP TABLE element; --",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT max(x) FROM c",
        f"SELECT sum(e0.mass * e1.mass) FROM {CROSS}",
        f"SELECT DISTINCT concat(e0.name, random()) FROM {CROSS} ORDER BY 1",
        "SELECT length(repeat('a', 100000000000))",
        "SELECT list(a) FROM range(10000000000) t(a)",
        "SELECT string_agg(repeat('x', 100000), '') FROM range(1000000000)",
        "SELECT * FROM range(100000000) ORDER BY random()",
        "SELECT regexp_matches(repeat('a', 100000), '(a*)*b') FROM range(100000)",
        "SELECT 10000000000000000000000000000000000000::HUGEINT * 1000",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "\u200bSELECT 1 FROM nowhere",
        "SELECT\x00 1",
    ],
}


@pytest.mark.slow
def test_hostile_queries_are_contained(database, tools):
    """Each query is refused or stopped, or reveals nothing; the file is unchanged; the next query works."""
    kind = "duckdb" if database.suffix == ".duckdb" else "sqlite"
    query, _ = tools
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    files = sorted(database.parent.iterdir())
    assert len(HOSTILE[kind]) >= 40
    answered = []
    for text in HOSTILE[kind]:
        status, content = ask(query, text.replace("{dir}", str(database.parent)))
        assert status in ("ok", "retry") and content, text[:80]
        assert "root:" not in content and len(content) <= 1500
        if status == "ok":
            answered.append(text)
        assert ask(query, "select count(*) as n from element") == ("ok", "n\n20\n(1 row)"), text[:80]
        assert sorted(database.parent.iterdir()) == files, text[:80]
        assert hashlib.sha256(database.read_bytes()).hexdigest() == before, text[:80]
    # No backtracking there: the expression is simply answered.
    assert not [text for text in answered if "regexp_matches" not in text]


@pytest.mark.slow
def test_killed_worker_is_replaced(database):
    query, _ = sql(database, seconds=1.0, workers=1)
    bomb = "with recursive c(x) as (select 1 union all select x + 1 from c) select max(x) from c"
    for _ in range(2):
        status, content = ask(query, bomb)
        assert (status, content) == ("retry", "the query took longer than 1 seconds and was stopped")
        assert ask(query, "select 1 as a") == ("ok", "a\n1\n(1 row)")


@pytest.mark.slow
def test_memory_limit_stops_a_query_and_frees_the_memory(database):
    """Half a gigabyte, which there is time for but, by default, no memory."""
    query, _ = sql(database, seconds=120, workers=1)
    rows = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 600) "
    big = rows + "select zeroblob(900000) as b from c order by x desc"
    if database.suffix == ".duckdb":
        big = rows + "select length(string_agg(repeat('x', 1000000) || x, '')) as n from c"
    for _ in range(3):
        assert ask(query, big) == ("retry", "the query needs too much memory")
        assert ask(query, rows + "select sum(x) as n from c") == ("ok", "n\n180300\n(1 row)")


def test_threads_share_the_workers(database):
    query, _ = sql(database, workers=2)
    seen = {}

    def work(number):
        seen[number] = [ask(query, f"select {number} * 10 + {i} as a") for i in range(5)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {n: [("ok", f"a\n{n * 10 + i}\n(1 row)") for i in range(5)] for n in range(8)}


def test_sql_works_in_an_environment(database):
    factory = tool_chat(sql(database))
    task = Task("t", (Message("user", "how many elements are there?"),))
    check_env(factory, task)
    env = factory(task)
    env.start()
    reply = env.step(
        ParsedTurn("", (ToolCall("tables", {}, "c0"), ToolCall("query", {"sql": "select 2"}, "c1"))), seed=0
    )
    assert [r.status for r in reply.replies] == ["ok", "ok"]


def test_invalid_files_and_arguments_raise(tmp_path):
    with pytest.raises(InputError, match="there is no database file"):
        sql(tmp_path / "missing.db")
    (tmp_path / "text.db").write_text("hello")
    with pytest.raises(InputError, match="neither a sqlite nor a duckdb"):
        sql(tmp_path / "text.db")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    with pytest.raises(InputError, match="cannot be opened"):
        sql(tmp_path / "broken.db")
    for name, value in {"seconds": 0, "rows": 0, "memory": 5, "workers": 0, "max_chars": 1}.items():
        with pytest.raises(InputError, match="seconds, rows, workers, max_chars and memory are"):
            sql(tmp_path / "text.db", **{name: value})


def test_unmerged_changes_raise(tmp_path):
    path = elements.write_sqlite(tmp_path / "a.db")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("DELETE FROM element")
    connection.commit()
    with pytest.raises(InputError, match="a.db-wal"):
        sql(path)
    connection.close()
    assert sql(path)[0]("select count(*) as n from element") == "n\n0\n(1 row)"


def test_names_with_unusual_characters_are_escaped(tmp_path):
    folder = tmp_path / "a?b #c%20'"
    folder.mkdir()
    path = elements.write_sqlite(folder / "d?mode=rwc.db")
    assert sql(path)[0]("select count(*) as n from element") == "n\n20\n(1 row)"


def test_parent_process_keeps_its_limits(database):
    before = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_FSIZE)
    sql(database)[0]("select 1")
    assert (resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_FSIZE)) == before
