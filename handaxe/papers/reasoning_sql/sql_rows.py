"""Rewards a query whose rows are those of the reference query, however it is written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task, Trajectory
from handaxe.rewards.parts.checks import called_with
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers
from handaxe.tools.database.reader import LATE, Ask

__all__ = ["ends_ordered", "sql_rows"]

SKIPPED = re.compile(r"(--[^\n]*|/\*.*?(?:\*/|\Z))|'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
"""A comment, which parts words as a blank does, or what stands in quotes of any kind."""
ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)
DIGITS = 9
"""Significant digits of a float that count, so that a mean does not depend on the order of its terms."""


def ends_ordered(sql: str) -> bool:
    """Whether the outermost query has an ORDER BY: one that stands in no bracket, quotes or comment.

    Example:
        "select a from t order by max(a)" does, "select a from (select a from t order by a)" does not
    """
    depth, outside = 0, []
    for letter in SKIPPED.sub(lambda found: " " if found[1] else "''", sql):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        outside.append(letter if depth == 0 else " ")
    return ORDER.search("".join(outside)) is not None


def sql_rows(
    *,
    fillings: Sequence[Ask],
    extract: Callable[[Trajectory], str] = final_text,
    gold: Callable[[Task], str] = lambda task: gold_answers(task)[0],
    ordered: Callable[[str], bool] = ends_ordered,
    duplicates: bool = True,
) -> Reward:
    """Give 1 to a query whose result equals the reference query's on every filling of the database, else 0.

        R_i        = 1 if result(q_i, d) = result(g, d) for every filling d, else 0
        executes_i = 1 if q_i gives a result and no error for every filling d, else 0

    q_i is what the trajectory says, g the task's reference. Results are equal that have as many columns and the same
    rows, as often, in any order; where `ordered(g)`, in this order. Columns count by their place and not by their name.
    1 is 1.0, floats count with 9 digits and whole numbers with all, NULL equals NULL and nothing else, and the text '1'
    is not the number 1. Queries are never compared as text and run in no process of the trainer. A second filling of
    the same tables catches a query that states the answer instead of asking for it.

    Args:
        fillings: functions SQL -> reply, of `handaxe.tools.database.reader`, one for each filling; at least one.
        extract: where the query stands in a trajectory.
        gold: the reference query of a task.
        ordered: whether the rows of a reference query have an order. Where it ties, a query that breaks ties otherwise
            is wrong, so let reference queries order by what is unique.
        duplicates: whether it counts how often a row comes; False compares sets, as BIRD's own script does.

    Returns:
        A reward with outcome [G] of 0 and 1 and the channel "executes". No turn, or no query: 0 and 0. A query that
        the clock stops (`reader(seconds=...)`) earns 0 and 0 too: what never ends is no answer, and to leave such an
        attempt unscored would spare it. So leave time enough that no sound query is stopped on a busy machine.

    Raises:
        InputError: no filling.
        TaskError: the reference query gives an error, or more rows than a filling's function returns.
        VerifierError: a worker cannot be started, or the reference query takes too long.

    Example:
        reference "select name from town order by year", whose rows are kemi, luta and then luta, kemi
        "select name from town order by year, name" -> 1;  "select 'kemi' union all select 'luta'" -> 0, executes 1;
        "select nam from town" -> 0, executes 0

    Paper: arXiv:2503.23157 (Reasoning-SQL), its execution accuracy EX and syntax check SYN.
    Unconfirmed: whether rows count as often as they come.
    Differs: on several fillings instead of one.
    """
    if not fillings:
        raise InputError("sql_rows needs at least one filling to ask")

    def score(trajectory: Trajectory) -> tuple[float, float]:
        sql, wanted = extract(trajectory), gold(trajectory.task)
        same, executes = True, True
        keeps = ordered(wanted)
        for ask in fillings:
            known = ask(wanted)
            if str(known.get("error", "")).startswith(LATE):
                raise InfrastructureError(f"of the reference query, {known['error']}")
            right = _result(known, keeps, duplicates)
            if right is None:
                raise TaskError(f"the reference query of task {trajectory.task.id!r} gives no whole result: {wanted!r}")
            reply = ask(sql) if sql.strip() else {"error": "there is no query"}
            executes = executes and "error" not in reply
            same = same and _result(reply, keeps, duplicates) == right
        return float(same), float(executes)

    def reward(group: Group) -> Scores:
        found = np.array([called_with(score, one) for one in group], dtype=np.float64).reshape(len(group), 2)
        return Scores(found[:, 0].copy(), channels={"executes": found[:, 1].copy()})

    return reward


def _result(reply: Mapping[str, Any], ordered: bool, duplicates: bool) -> Any:
    """What is equal for equal results; None for an error, or where rows are missing."""
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
