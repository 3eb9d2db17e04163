"""Schema items and token bigrams of an SQL query, as sets.

    select t.a, b from t where a = 1
    sql_items    -> {"t", "t.a", "t.b"}
    sql_bigrams  -> {("select", "t"), ("t", "."), (".", "a"), ("a", ","), (",", "b"), ...}

Text that is no query has no items, and text that is no SQL no bigrams: a policy may write anything. sqlglot parses the
text (extra [sql]); nothing is executed.

Example:
    sql_items("select a, b from t") is {"t", "t.a", "t.b"}

Paper: arXiv:2503.23157 (Reasoning-SQL), the items of schema linking SL and the n-grams of NG with n = 2.
Differs: nothing known.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["LONGEST", "query_tree", "sql_bigrams", "sql_items"]

LONGEST = 4_000
"""Limit on the characters of a text; a longer one has no items and no bigrams."""
NOTHING: Mapping[str, Sequence[str]] = {}


def sql_items(
    sql: str,
    *,
    schema: Mapping[str, Sequence[str]] = NOTHING,
    tables: bool = True,
    dialect: str = "sqlite",
) -> frozenset[str]:
    """Collect the tables and columns of a query in lower case, a column as "table.column".

    A column without a table belongs to the only table of the query, else to the only table of `schema` with this
    column, else it is its own item. Names of common table expressions and computed columns count as other names do. `*`
    counts as nothing.

    Args:
        sql: one statement.
        schema: table -> columns.
        tables: include the tables themselves.
        dialect: of sqlglot.

    Raises:
        InputError: sqlglot is not installed.

    Example:
        sql_items("select a, b from t") is {"t", "t.a", "t.b"}; with tables=False {"t.a", "t.b"}
    """
    tree = query_tree(sql, dialect)
    if tree is None:
        return frozenset()
    expressions = _sqlglot().expressions
    named = {one.alias_or_name.lower(): one.name.lower() for one in tree.find_all(expressions.Table)}
    used = set(named.values())
    known = {name.lower(): {column.lower() for column in columns} for name, columns in schema.items()}
    items = set(used) if tables else set()
    for column in tree.find_all(expressions.Column):
        name, table = column.name.lower(), column.table.lower()
        if not name or name == "*":
            continue
        if table:
            owner = [named.get(table, table)]
        else:
            owner = list(used) if len(used) == 1 else [one for one in used if name in known.get(one, ())]
        items.add(f"{owner[0]}.{name}" if len(owner) == 1 else name)
    return frozenset(items)


def sql_bigrams(sql: str, *, dialect: str = "sqlite") -> frozenset[tuple[str, str]]:
    """Collect the pairs of adjacent SQL tokens of a text.

    Names and keywords are in lower case; a quoted text is one token with its quotes, unchanged.

    Args:
        sql: text.
        dialect: of sqlglot.

    Raises:
        InputError: sqlglot is not installed.

    Example:
        sql_bigrams("select a from t") is {("select", "a"), ("a", "from"), ("from", "t")}
    """
    sqlglot = _sqlglot()
    if len(sql) > LONGEST:
        return frozenset()
    try:
        with _silent():
            tokens = sqlglot.tokenize(sql, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return frozenset()
    words = [_word(sqlglot, token) for token in tokens]
    return frozenset(itertools.pairwise(words))


def _word(sqlglot: Any, token: Any) -> str:
    return f"'{token.text}'" if token.token_type == sqlglot.tokens.TokenType.STRING else token.text.lower()


def query_tree(sql: str, dialect: str = "sqlite") -> Any:
    """Tree of sqlglot of one query; None for other text, and for text that is too long.

    Raises:
        InputError: sqlglot is not installed.
    """
    sqlglot = _sqlglot()
    if len(sql) > LONGEST or not sql.strip():
        return None
    try:
        with _silent():
            trees = sqlglot.parse(sql, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return None
    return trees[0] if len(trees) == 1 and isinstance(trees[0], sqlglot.expressions.Query) else None


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress sqlglot's log messages of this thread, since their text is the policy's, with control characters."""
    own, logger = threading.get_ident(), logging.getLogger("sqlglot")

    def others(record: logging.LogRecord) -> bool:
        return record.thread != own

    logger.addFilter(others)
    try:
        yield
    finally:
        logger.removeFilter(others)


def _sqlglot() -> Any:
    try:
        import sqlglot
        import sqlglot.errors
        import sqlglot.expressions
        import sqlglot.tokens
    except ImportError as error:
        raise InputError('queries are parsed by sqlglot: pip install "handaxe[sql]"') from error
    return sqlglot
