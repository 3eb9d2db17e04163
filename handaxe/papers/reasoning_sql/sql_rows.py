"""Reward for a query with the rows of the reference query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, Trajectory
from handaxe.rewards.parts.checks import call_score
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers
from handaxe.tools.database.query_function import TIMED_OUT, QueryFunction

__all__ = ["ends_ordered", "sql_rows"]

SKIPPED = re.compile(r"(--[^\n]*|/\*.*?(?:\*/|\Z))|'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
"""A comment, which separates words like a blank, or quoted text."""
ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)
DIGITS = 9
"""Significant digits of a float that count, so that a mean does not depend on the order of its terms."""


def ends_ordered(sql: str) -> bool:
    """Check for an ORDER BY of the outermost query, outside of brackets, quotes and comments.

    Example:
        "select a from t order by max(a)" has one, "select a from (select a from t order by a)" has not
    """
    depth, outside = 0, []
    for letter in SKIPPED.sub(lambda found: " " if found[1] else "''", sql):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        outside.append(letter if depth == 0 else " ")
    return ORDER.search("".join(outside)) is not None


def sql_rows(
    *,
    fillings: Sequence[QueryFunction],
    extract: Callable[[Trajectory], str] = final_text,
    gold: Callable[[Task], str] = lambda task: gold_answers(task)[0],
    ordered: Callable[[str], bool] = ends_ordered,
    duplicates: bool = True,
) -> Reward:
    """Score 1 for a query with the result of the reference query on every filling of the database, else 0.

        R_i        = 1 if result(q_i, d) = result(g, d) for every filling d, else 0
        executes_i = 1 if q_i gives a result and no error for every filling d, else 0

    q_i is the query of the trajectory, g the task's reference. Results are equal if they have equally many columns and
    the same rows with the same counts, in any order, or in the same order if `ordered(g)`. Columns count by position,
    not by name. 1 equals 1.0, floats count with 9 digits and integers with all, NULL equals only NULL, and the text '1'
    is not the number 1. Queries are never compared as text, and never run in a process of the trainer. A second filling
    of the same tables catches a query that states the answer instead of computing it.

    Args:
        fillings: functions SQL -> reply, of `handaxe.tools.database.reader`, one for each filling; at least one.
        extract: trajectory -> query.
        gold: task -> reference query.
        ordered: reference query -> whether its rows have an order. A query that breaks ties differently is wrong, so
            that reference queries should order by unique values.
        duplicates: count equal rows; False compares sets, as BIRD's script does.

    Returns:
        A reward with outcome [G] of 0 and 1 and the channel "executes". No turn, or no query: 0 and 0. A query stopped
        by the time limit (`reader(seconds=...)`) also gets 0 and 0, since an unscored rollout would be spared. The
        limit must be long enough for correct queries on a busy machine.

    Raises:
        InputError: no filling.
        TaskError: the reference query gives an error, or more rows than a filling's function returns.
        VerifierError: a worker cannot be started, or the reference query exceeds the time limit.

    Example:
        reference "select name from town order by year", whose rows are kemi, luta and then luta, kemi
        "select name from town order by year, name" -> 1;  "select 'kemi' union all select 'luta'" -> 0, executes 1;
        "select nam from town" -> 0, executes 0

    Paper: arXiv:2503.23157 (Reasoning-SQL), its execution accuracy EX and syntax check SYN.
    Unconfirmed: whether duplicate rows count.
    Differs: several fillings instead of one.
    """
    if not fillings:
        raise InputError("sql_rows needs at least one filling")

    def score(trajectory: Trajectory) -> tuple[float, float]:
        sql, reference = extract(trajectory), gold(trajectory.task)
        same, executes = True, True
        in_order = ordered(reference)
        for ask in fillings:
            gold_reply = ask(reference)
            if str(gold_reply.get("error", "")).startswith(TIMED_OUT):
                raise InfrastructureError(f"the reference query: {gold_reply['error']}")
            right = _result(gold_reply, in_order, duplicates)
            if right is None:
                name = trajectory.task.id
                raise TaskError(f"the reference query of task {name!r} gives no complete result: {reference!r}")
            reply = ask(sql) if sql.strip() else {"error": "there is no query"}
            executes = executes and "error" not in reply
            same = same and _result(reply, in_order, duplicates) == right
        return float(same), float(executes)

    def reward(group: Group) -> Scores:
        found = np.array([call_score(score, one) for one in group], dtype=np.float64).reshape(len(group), 2)
        return Scores(found[:, 0].copy(), channels={"executes": found[:, 1].copy()})

    return reward


def _result(reply: Mapping[str, Any], ordered: bool, duplicates: bool) -> Any:
    """Key that is equal for equal results; None for an error or missing rows."""
    if "error" in reply or reply["more"]:
        return None
    rows = [tuple(_cell(cell) for cell in row) for row in reply["rows"]]
    if not duplicates:
        rows = list(dict.fromkeys(rows))
    return len(reply["columns"]), rows if ordered else Counter(rows)


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value == value:
        return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")
    if isinstance(value, float):
        return "not a number"
    if isinstance(value, Mapping):
        return "blob", value["blob"], value["size"]
    return value
