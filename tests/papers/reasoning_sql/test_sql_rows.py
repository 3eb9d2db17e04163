import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from handaxe.core.errors import InputError, TaskError, VerifierError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reasoning_sql.sql_rows import ends_ordered, sql_rows
from handaxe.papers.reasoning_sql.tables import tables
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.tools.database.query_function import TIMED_OUT, query_function

ROWS = (
    [("kemi", 1179, 2.5), ("luta", 1300, None), ("luta", 1300, None)],
    [("rega", 1500, 0.2), ("luta", 1100, 0.1), ("kemi", 1400, None)],
)
ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
NAMES = "select name from town"


def filling(path, rows):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table town (name text, year integer, share real)")
        database.executemany("insert into town values (?, ?, ?)", rows)
    return query_function(path, seconds=20)


@pytest.fixture(scope="module")
def fillings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fillings")
    return [filling(folder / f"{n}.db", rows) for n, rows in enumerate(ROWS)]


def table(reply):
    return lambda sql: reply.get(sql, {"error": "no such query"})


CONTRACT = [{"fillings": [table({"4": {"columns": ["a"], "rows": [[4]], "more": False}})]}]
LAB = [
    LabCase("sql_rows(...)", tables, lambda world: world.correct),
]


def scored(fillings, gold, *queries, **knobs):
    task = make_task(answer=gold)
    group = make_group(task=task, trajectories=[make_trajectory(texts=[q], task=task) for q in queries])
    scores = sql_rows(fillings=fillings, **knobs)(group)
    return list(zip(scores.outcome.tolist(), scores.channels["executes"].tolist()))


def test_sql_rows_equals_the_worked_example(tmp_path):
    towns = [[("luta", 1300, 0.0), ("kemi", 1179, 0.0)], [("luta", 1100, 0.0), ("kemi", 1400, 0.0)]]
    both = [filling(tmp_path / f"{n}.db", rows) for n, rows in enumerate(towns)]
    gold = "select name from town order by year"
    said = (f"{gold}, name", "select 'kemi' union all select 'luta'", "select nam from town")
    assert scored(both, gold, *said) == [(1, 1), (0, 1), (0, 0)]


def test_a_query_that_states_the_answer_fails_on_the_second_filling(fillings):
    gold, stated = "select year from town where name='kemi'", "select 1179"
    assert scored(fillings[:1], gold, stated) == [(1, 1)]
    assert scored(fillings, gold, stated) == [(0, 1)]


@pytest.mark.parametrize(
    ("gold", "said", "right"),
    [
        (NAMES, "select name from town order by year desc", 1),
        (f"{NAMES} order by year desc", f"{NAMES} order by year", 0),
        (f"{NAMES} order by year", f"{NAMES} order by year, name", 1),
        (f"{NAMES} order by year", NAMES, 0),
        ("select name, year from town", "select year, name from town", 0),
        ("select name, year from town", "select name as n, year as y from town", 1),
        ("select name from town", "select name, name from town", 0),
        ("select name from town", "select distinct name from town", 0),
        ("select share from town", "select share from town where share is not null", 0),
        ("select share from town", "select coalesce(share, 'NULL') from town", 0),
        ("select year from town", "select year * 1.0 from town", 1),
        ("select year from town", "select cast(year as text) from town", 0),
        ("select sum(share) from town", "select sum(share) from (select * from town order by name desc)", 1),
        ("select count(*) from town where year > 9999", "select 0", 1),
        ("select name from town where year > 9999", "select year, name from town where year > 9999", 0),
    ],
)
def test_results_are_compared_by_value_and_position(fillings, gold, said, right):
    assert scored(fillings, gold, said) == [(right, 1)]


def test_duplicates_count_by_default(fillings):
    assert scored(fillings, NAMES, "select distinct name from town") == [(0, 1)]
    assert scored(fillings, NAMES, "select distinct name from town", duplicates=False) == [(1, 1)]


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "  ",
        "attach database '/tmp/x.db' as x",
        "delete from town",
        "select name from town; drop table town",
        "pragma query_only=off",
        "select load_extension('x')",
        "x" * 10**6,
        "select " + "(" * 3000,
        "select zeroblob(1000000000)",
        "\x00",
    ],
)
def test_hostile_queries_score_zero_and_do_not_execute(fillings, hostile):
    assert scored(fillings, NAMES, hostile) == [(0, 0)]
    assert scored(fillings, NAMES, NAMES) == [(1, 1)]


def test_an_endless_query_is_stopped(tmp_path):
    patient = filling(tmp_path / "0.db", ROWS[0])
    hasty = query_function(tmp_path / "0.db", seconds=0.3)
    assert scored([lambda sql: (hasty if sql == ENDLESS else patient)(sql)], NAMES, ENDLESS) == [(0, 0)]


def test_endless_rows_are_wrong_and_execute(fillings):
    many = "with recursive c(x) as (select 1 union all select x + 1 from c limit 5000) select x from c"
    assert scored(fillings[:1], NAMES, many) == [(0, 1)]
    with pytest.raises(TaskError, match="no complete result"):
        scored(fillings[:1], many, NAMES)


def test_sql_rows_equals_a_slow_count():
    """Against a comparison written out, over all pairs of small results."""
    results = [[], [[1]], [[1], [1]], [[1], [2]], [[2], [1]], [[None]], [[1, 2]], [["1"]], [[0.1 + 0.2]], [[0.3]]]
    for ordered in (True, False):
        for gold in results:
            for said in results:
                replies = {
                    name: {"columns": ["c"] * len((rows or [[0]])[0]), "rows": rows, "more": False}
                    for name, rows in (("gold", gold), ("said", said))
                }
                ((right, _),) = scored([table(replies)], "gold", "said", ordered=lambda sql: ordered)
                a, b = (
                    [tuple(round(c, 9) if isinstance(c, float) else c for c in row) for row in r] for r in (gold, said)
                )
                assert right == (a == b if ordered else Counter(a) == Counter(b)), (gold, said, ordered)


def test_a_trajectory_without_turns_scores_zero(fillings):
    silent = make_trajectory(layouts=["UUt"], texts=[], task=make_task(answer=NAMES))
    scores = sql_rows(fillings=fillings)(make_group(trajectories=[silent], task=silent.task))
    assert scores.outcome.tolist() == scores.channels["executes"].tolist() == [0]


def test_a_failing_reference_raises_task_error(fillings):
    with pytest.raises(TaskError, match="reference query"):
        scored(fillings, "select nothing", NAMES)
    with pytest.raises(InputError, match="at least one filling"):
        sql_rows(fillings=[])


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("select a from t ORDER  BY a", True),
        ("select a from t order by max(a)", True),
        ("select a from (select a from t order by a)", False),
        ("select 'order by' from t", False),
        ("select 'it''s (' from t order by a", True),
        ('select "order by" from t', False),
        ("select a from t -- order by a", False),
        ("select a from t /* order by a */", False),
        ("select a from t /* order by a", False),
        ("select a from t order /* as\nasked */ by a", True),
        ("select a from t -- it's\norder by a", True),
        ("select '--' from t order by a", True),
        ("select [order by] from t", False),
        ("select `order by` from t", False),
        ("select [a(] from t order by a", True),
    ],
)
def test_the_order_of_rows_counts_if_the_reference_orders(sql, ordered):
    assert ends_ordered(sql) is ordered


def test_a_slow_reference_raises_verifier_error():
    slow = table({"gold": {"error": f"{TIMED_OUT} than 5 seconds and was stopped"}})
    with pytest.raises(VerifierError, match="reference query"):
        scored([slow], "gold", "said")
