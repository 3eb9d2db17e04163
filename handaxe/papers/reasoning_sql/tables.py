"""Questions about two small tables, answered by a query that must be correct on two sets of rows."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import Reward
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.ops.seeds import derive_seed
from handaxe.papers.reasoning_sql.sql_parts import sql_bigrams, sql_items
from handaxe.papers.reasoning_sql.sql_rows import sql_rows
from handaxe.rewards.parts.extract import tag_content
from handaxe.rewards.set_overlap import set_overlap
from handaxe.tools.database.query_function import QueryFunction, query_function
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["SCHEMA", "bigram_overlap", "predicted_query", "schema_overlap", "tables"]

SCHEMA = {"ship": ("name", "home", "age", "crew"), "town": ("name", "year", "size")}
"""Table -> columns; the first is text and unique, `home` is the name of a town, the others are whole numbers."""
NUMBERS = (("ship", "age"), ("ship", "crew"), ("town", "year"), ("town", "size"))
RANGES = {"age": range(1, 60), "crew": range(10, 99), "year": range(1100, 1900), "size": range(1, 99)}
SHIPS, TOWNS = 10, 6
"""Rows of the first set; the second set has two more ships and one more town."""
TAG = "sql"
START = Start(skill=120, steps=0, batch_size=16, learning_rate=2e-3)
predicted_query = tag_content(TAG)
"""The query of a rollout: the content of its last <sql>...</sql>."""


class _Question(NamedTuple):
    kind: str
    words: str
    sentence: str
    sql: str


def tables(*, brief: bool = True, seconds: float = 5.0, world_seed: int = 0) -> World:
    """Questions of seven kinds about ships and towns, answered by a SELECT between <sql> and </sql>.

    The tables have two sets of rows: equal names, other numbers and homes, and some more rows in the second. A query is
    correct if its results equal the reference query's on both sets, so that a query with constant results is incorrect.
    Reference queries have non-empty, different results on the two sets.

    Args:
        brief: questions are key words, for the tiny policy; otherwise sentences, with the tables and their columns.
        seconds: time limit of a query, in wall time.
        world_seed: seed of the rows.

    Returns:
        A world of one turn without tools, broken down by "kind": pick, filter, both (two conditions), count, best (of a
        column), order and join. A task's answer is its reference query.

    Example:
        "ship age > 30" has the reference query "select name from ship where age>30"
    """
    fillings = [_filling(world_seed, number) for number in (0, 1)]
    asks = [query_function(_file(rows), seconds=seconds) for rows in fillings]

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(number, seed, split, asks, fillings[0], brief) for number in range(count)]

    return World(
        name="tables",
        tasks=tasks,
        env=tool_chat,
        correct=sql_rows(fillings=asks, extract=predicted_query),
        breakdown=("kind",),
        is_answer=is_text_answer,
        expert=_expert,
        start=START if brief else None,
    )


def schema_overlap(*, names: bool = True) -> Reward:
    """Create the Jaccard overlap of a query's tables and columns with the reference query's.

    Args:
        names: count tables as well as columns.

    Example:
        reference t.a, t.b; query t.a, t.c  ->  2 of 4; without names of tables 1 of 3

    Paper: arXiv:2503.23157 (Reasoning-SQL), schema linking SL.
    Unconfirmed: whether tables count; by the paper's words they do.
    Differs: nothing known.
    """
    return set_overlap(
        found=lambda one: sql_items(predicted_query(one), schema=SCHEMA, tables=names),
        gold=lambda task: sql_items(task.answer, schema=SCHEMA, tables=names),
        measure="jaccard",
    )


def bigram_overlap() -> Reward:
    """Create the Jaccard overlap of a query's token bigrams with the reference query's.

    Paper: arXiv:2503.23157 (Reasoning-SQL), n-gram similarity NG, with n = 2.
    Differs: nothing known.
    """
    return set_overlap(
        found=lambda one: sql_bigrams(predicted_query(one)),
        gold=lambda task: sql_bigrams(task.answer),
        measure="jaccard",
    )


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", f"<{TAG}>{task.answer}</{TAG}>")


def _task(
    number: int, seed: int, split: Split, asks: Sequence[QueryFunction], rows: dict[str, Any], brief: bool
) -> Task:
    rng = random.Random(derive_seed("tables", seed, split, number))
    while True:
        made = rng.choice(KINDS)(rng, rows)
        if _split(made.words) == split and _is_discriminative(made.sql, asks):
            break
    said = made.words if brief else f"{_described()}\n{made.sentence}\nAnswer with one SELECT between <{TAG}> tags."
    name = f"tables-{split}-{seed}-{number}"
    return Task(name, (Message("user", said),), made.sql, metadata={"kind": made.kind})


def _split(words: str) -> Split:
    return content_split("tables split", words)


def _is_discriminative(sql: str, asks: Sequence[QueryFunction]) -> bool:
    """Whether the results are non-empty and differ between the sets of rows."""
    replies = [ask(sql) for ask in asks]
    if failed := [reply["error"] for reply in replies if "error" in reply]:
        # A replacement question would change the tasks of a seed.
        raise InfrastructureError(f"the reference query {sql!r} failed: {failed[0]}")
    results = [reply["rows"] for reply in replies]
    return all(results) and results[0] != results[1]


def _pick(rng: random.Random, rows: dict[str, Any]) -> _Question:
    table = rng.choice(list(SCHEMA))
    key, column = rng.choice(rows[table])[0], rng.choice(SCHEMA[table][1:])
    sql = f"select {column} from {table} where name='{key}'"
    return _Question("pick", f"{table} {key} {column}?", f"What is the {column} of the {table} {key}?", sql)


def _filter(rng: random.Random, rows: dict[str, Any]) -> _Question:
    del rows
    table, condition, told = _condition(rng)
    sql = f"select name from {table} where {condition}"
    return _Question("filter", f"{table} {told}?", f"Which names of {table} have {told}?", sql)


def _both(rng: random.Random, rows: dict[str, Any]) -> _Question:
    table, condition, told = _condition(rng)
    while table != "ship":
        table, condition, told = _condition(rng)
    town = rng.choice(rows["town"])[0]
    sql = f"select name from ship where {condition} and home='{town}'"
    return _Question("both", f"ship {told} of {town}?", f"Which ships have {told} and the home {town}?", sql)


def _count(rng: random.Random, rows: dict[str, Any]) -> _Question:
    del rows
    table, condition, told = _condition(rng)
    sql = f"select count(*) from {table} where {condition}"
    return _Question("count", f"how many {table} {told}?", f"How many rows of {table} have {told}?", sql)


def _best(rng: random.Random, rows: dict[str, Any]) -> _Question:
    town, how = rng.choice(rows["town"])[0], rng.choice(("max", "min", "sum", "avg"))
    column = rng.choice(("age", "crew"))
    sql = f"select {how}({column}) from ship where home='{town}'"
    return _Question("best", f"{how} {column} of {town}?", f"What is the {how} of {column} of ships of {town}?", sql)


def _order(rng: random.Random, rows: dict[str, Any]) -> _Question:
    del rows
    table, condition, told = _condition(rng)
    column = rng.choice([name for owner, name in NUMBERS if owner == table])
    sql = f"select name from {table} where {condition} order by {column}"
    sentence = f"Which names of {table} have {told}, in order of {column}?"
    return _Question("order", f"{table} {told} by {column}?", sentence, sql)


def _join(rng: random.Random, rows: dict[str, Any]) -> _Question:
    ship, column = rng.choice(rows["ship"])[0], rng.choice(SCHEMA["town"][1:])
    sql = f"select {column} from town join ship on home=town.name where ship.name='{ship}'"
    return _Question("join", f"{column} of home of {ship}?", f"What is the {column} of the home of {ship}?", sql)


KINDS: tuple[Callable[[random.Random, dict[str, Any]], _Question], ...] = (
    _pick,
    _filter,
    _both,
    _count,
    _best,
    _order,
    _join,
)


def _condition(rng: random.Random) -> tuple[str, str, str]:
    """A table, a condition on a numeric column in SQL, and the condition in words."""
    (table, column), sign = rng.choice(NUMBERS), rng.choice("<>")
    bound = rng.choice(RANGES[column])
    return table, f"{column}{sign}{bound}", f"{column} {sign} {bound}"


def _filling(seed: int, number: int) -> dict[str, list[list[Any]]]:
    names = random.Random(derive_seed("tables names", seed))
    made: list[str] = []
    while len(made) < SHIPS + TOWNS + 3:
        name = "".join(names.choice(letters) for letters in ("bdfgklmnprstv", "aeiou") * 2)
        made += [] if name in made else [name]
    rng = random.Random(derive_seed("tables filling", seed, number))
    towns, ships = made[: TOWNS + number], made[TOWNS + 1 :][: SHIPS + 2 * number]
    drawn = {column: rng.sample(RANGES[column], len(ships if table == "ship" else towns)) for table, column in NUMBERS}
    return {
        "ship": [[name, rng.choice(towns), drawn["age"][i], drawn["crew"][i]] for i, name in enumerate(ships)],
        "town": [[name, drawn["year"][i], drawn["size"][i]] for i, name in enumerate(towns)],
    }


def _file(filling: dict[str, list[list[Any]]]) -> Path:
    """Rows as a sqlite file, cached by a digest of the rows."""
    path = cache_path("tables", f"{content_digest([json.dumps([SCHEMA, filling])])}.db")
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as work:
            begun = Path(work) / "made.db"
            with closing(sqlite3.connect(begun)) as database, database:
                for table, rows in filling.items():
                    kinds = ", ".join(f"{name} {_kind(name)}" for name in SCHEMA[table])
                    database.execute(f"create table {table} ({kinds})")
                    marks = ", ".join("?" * len(SCHEMA[table]))
                    database.executemany(f"insert into {table} values ({marks})", rows)
            begun.replace(path)
    return path


def _kind(column: str) -> str:
    return "integer" if column in RANGES else "text"


def _described() -> str:
    listed = (f"{table}({', '.join(columns)})" for table, columns in SCHEMA.items())
    return f"Tables: {'; '.join(listed)}. A ship's home is the name of a town."
