import logging

import pytest

pytest.importorskip("sqlglot")

from handaxe.papers.reasoning_sql.sql_parts import LONGEST, sql_bigrams, sql_items

SCHEMA = {"ship": ("name", "home"), "town": ("name", "size")}


def test_items_and_bigrams_equal_the_worked_examples():
    assert sql_items("select a, b from t") == {"t", "t.a", "t.b"}
    assert sql_items("select a, b from t", tables=False) == {"t.a", "t.b"}
    assert sql_bigrams("select a from t") == {("select", "a"), ("a", "from"), ("from", "t")}


def test_tables_count_as_items():
    """One example in notes on the paper counts columns alone, 1/3; by the paper's words it is 2/4."""
    gold, said = "select a, b from t", "select a, c from t"
    for tables, common, either in ((True, 2, 4), (False, 1, 3)):
        ours, theirs = sql_items(said, tables=tables), sql_items(gold, tables=tables)
        assert (len(ours & theirs), len(ours | theirs)) == (common, either)


@pytest.mark.parametrize(
    ("sql", "items"),
    [
        ("SELECT T.A FROM t", {"t", "t.a"}),
        ("select x.a from t as x where x.b = 'a'", {"t", "t.a", "t.b"}),
        (
            "select size from town join ship on home = town.name",
            {"town", "ship", "town.size", "ship.home", "town.name"},
        ),
        ("select name from town join ship on home = size", {"town", "ship", "name", "ship.home", "town.size"}),
        ("select count(*) from t", {"t"}),
        ("select a from t where b in (select b from t)", {"t", "t.a", "t.b"}),
        ("select 1", set()),
        ("", set()),
        ("hello", set()),
        ("drop table t", set()),
        ("select a from t; select b from t", set()),
        ("select a from (select", set()),
    ],
)
def test_sql_items_resolves_aliases_and_schemas(sql, items):
    assert sql_items(sql, schema=SCHEMA) == items


def test_quoted_words_keep_their_case_and_keywords_do_not():
    assert sql_bigrams("SELECT 'Ab'") == {("select", "'Ab'")} != sql_bigrams("select 'ab'")
    assert sql_bigrams("select 'ab'") != sql_bigrams("select ab")
    assert sql_bigrams("select 'never closed") == frozenset()


@pytest.mark.parametrize("bad", ["(" * 3999, "not " * 900, "a." * 1999, "\x00", "select " + "case when " * 390])
def test_deeply_nested_queries_end(bad):
    assert sql_items(bad) == frozenset()
    sql_bigrams(bad)


def test_long_text_has_no_items_and_no_bigrams():
    longest = "select " + "a" * (LONGEST - 14) + " from t"
    assert len(longest) == LONGEST and len(sql_items(longest)) == 2 and len(sql_bigrams(longest)) == 3
    assert sql_items(longest + " ") == sql_bigrams(longest + " ") == frozenset()
    assert sql_items("select a from t" + " " * 10**6) == frozenset()


def test_the_policy_text_is_not_logged(caplog, capfd):
    """Control characters of a policy would otherwise reach the terminal."""
    for sql in ("alter \x1b[31m table", "create \x1b[31m weird thing", "call \x1b[31mf(1)"):
        sql_items(sql)
        sql_bigrams(sql)
    assert caplog.records == [] and capfd.readouterr() == ("", "")
    logging.getLogger("sqlglot").warning("of somebody else")
    assert [record.getMessage() for record in caplog.records] == ["of somebody else"]
