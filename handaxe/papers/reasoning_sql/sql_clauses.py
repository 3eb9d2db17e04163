"""Clauses of an SQL query as a set: the rule's twin of a judge that reads a query."""

from __future__ import annotations

from typing import Any

from handaxe.core.protocols import Reward
from handaxe.papers.reasoning_sql.sql_parts import query_tree
from handaxe.papers.reasoning_sql.tables import predicted_query
from handaxe.rewards.set_overlap import set_overlap

__all__ = ["clause_overlap", "sql_clauses"]


def sql_clauses(sql: str, *, dialect: str = "sqlite") -> frozenset[tuple[str, str]]:
    """Collect the clauses of the outermost query in lower case, with the terms of lists and of AND one by one.

    Args:
        sql: one statement.
        dialect: of sqlglot.

    Returns:
        (clause, text) of every part; empty for text that is no query.

    Raises:
        InputError: sqlglot is not installed.

    Example:
        select a, b from t where c > 1 and d = 2
        -> ("expressions", "a"), ("expressions", "b"), ("from_", "from t"), ("where", "c > 1"), ("where", "d = 2")

    Idea: what a judge sees in a query with wrong rows; Reasoning-SQL (arXiv:2503.23157) asks a language model.
    """
    tree = query_tree(sql, dialect)
    if tree is None:
        return frozenset()
    return frozenset(
        (name, part.sql(dialect=dialect).lower())
        for name, value in tree.args.items()
        for one in (value if isinstance(value, list) else [value])
        for part in _terms(name, one)
    )


def _terms(name: str, clause: Any) -> list[Any]:
    """A clause, or the terms of its AND."""
    if not hasattr(clause, "sql"):
        return []
    if name not in ("where", "having"):
        return [clause]
    condition = clause.this
    return list(condition.flatten()) if condition.key == "and" else [condition]


def clause_overlap() -> Reward:
    """Create the Jaccard index of a query's clauses with the reference query's.

    Example:
        reference select a from t where c > 1, query select a from t where c > 2  ->  2 of 4

    Idea: as of `sql_clauses`.
    """
    return set_overlap(
        found=lambda one: sql_clauses(predicted_query(one)),
        gold=lambda task: sql_clauses(task.answer),
        measure="jaccard",
    )
