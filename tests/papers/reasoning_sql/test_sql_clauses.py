import pytest

pytest.importorskip("sqlglot")

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reasoning_sql.sql_clauses import clause_overlap, sql_clauses
from handaxe.papers.reasoning_sql.sql_parts import LONGEST
from handaxe.papers.reasoning_sql.tables import tables
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CONTRACT = [{}]
REFERENCE = "select a from t where c > 1"
SIBLINGS = make_group(
    task=make_task(answer=REFERENCE),
    trajectories=[
        make_trajectory(texts=[f"<sql>{sql}</sql>"], task=make_task(answer=REFERENCE))
        for sql in (REFERENCE, "select a from t", "select b from t", "none")
    ],
)
LAB = [LabCase("clause_overlap()", tables, lambda world: clause_overlap())]


def test_clauses_equal_the_worked_example():
    assert sql_clauses("SELECT a, b FROM t WHERE c > 1 AND d = 2") == {
        ("expressions", "a"),
        ("expressions", "b"),
        ("from_", "from t"),
        ("where", "c > 1"),
        ("where", "d = 2"),
    }


def test_joins_and_orders_are_clauses():
    """An OR is one condition."""
    found = sql_clauses("select x.a from x join y on x.b = y.b where x.c = 1 or y.d = 2 order by x.a")
    assert {name for name, _ in found} == {"expressions", "from_", "joins", "where", "order"}
    assert len(found) == 5


@pytest.mark.parametrize("bad", ["", "hello", "drop table t", "select a from t; select b from t", "(" * 3999, "\x00"])
def test_text_that_is_no_query_has_no_clauses(bad):
    assert sql_clauses(bad) == frozenset()
    assert sql_clauses("select a from t" + " " * LONGEST) == frozenset()


def test_the_overlap_equals_a_slow_count():
    """1 for the reference; 2 of 3 without the condition; from alone of 4 clauses; 0 for no query."""
    assert clause_overlap()(SIBLINGS).outcome.tolist() == pytest.approx([1, 2 / 3, 1 / 4, 0], abs=1e-12)
    gold = sql_clauses(REFERENCE)
    for sql, share in (("select a from t where c > 2", 2 / 4), ("select a, b from t where c > 1", 3 / 4)):
        found = sql_clauses(sql)
        common = sum(part in gold for part in found)
        assert common / (len(found) + len(gold) - common) == share
