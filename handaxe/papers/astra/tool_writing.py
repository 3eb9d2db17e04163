"""Python tools with mock data for sub-questions, accepted by execution in the sandbox, and merged by intent."""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Mapping, Sequence

from handaxe.core.errors import Retry
from handaxe.papers.astra.records import KINDS, TABLES
from handaxe.papers.astra.sub_questions import SubQuestion
from handaxe.tools.python import python

__all__ = ["Rows", "accepts_tool", "call_tool", "merge_tools", "mock_rows", "write_tool"]

Rows = tuple[tuple[str, str], ...]
"""Keys and values of mock data in order; a later row replaces an earlier one with its key."""
MOCK = 4
"""Rows of mock data beside that of the sub-question."""


def write_tool(name: str, rows: Rows) -> str:
    """Write the code of a tool: mock data, and a function that looks up a key.

    Example:
        write_tool("town", (("1204", "4410"),)) defines town("1204") -> "4410"; another key raises KeyError
    """
    data = json.dumps([list(row) for row in rows])
    return (
        f"ROWS = dict({data})\n\n\n"
        f"def {name}(name):\n"
        "    if name not in ROWS:\n"
        f'        raise KeyError("no {name} of " + name)\n'
        "    return ROWS[name]\n"
    )


@functools.lru_cache(maxsize=16_384)
def call_tool(code: str, name: str, argument: str) -> tuple[bool, str]:
    """Call a tool in the sandbox: True and the printed text, or False and the last line of the error.

    A call is a new session, so that it depends on code and argument alone.

    Raises:
        InfrastructureError: the sandbox died.
    """
    session = python()
    try:
        return True, str(session(f"{code}\nprint({name}({json.dumps(argument)}))")).strip()
    except Retry as error:
        return False, str(error).strip().splitlines()[-1]
    finally:
        session.owner.close()


def accepts_tool(code: str, one: SubQuestion) -> bool:
    """Test whether the sandbox's output of a sub-question's call contains its answer, as a word."""
    ran, text = call_tool(code, one.table, one.key)
    return ran and bool(one.answer) and re.search(rf"(?<!\w){re.escape(one.answer)}(?!\w)", text) is not None


def mock_rows(table: str, own: Rows, rng: random.Random, *, count: int = MOCK) -> Rows:
    """Add invented rows of a table's kinds to rows, after them: an invented key may be that of a row.

    Example:
        ("town", (("1204", "4410"),)) -> (("1204", "4410"), ("3712", "5120"), ...)
    """
    source, target = (KINDS[kind] for kind in TABLES[table])
    more = [(str(rng.randrange(*source)), str(rng.randrange(*target))) for _ in range(count)]
    return (*own, *more)


def merge_tools(
    subs: Sequence[SubQuestion], rows: Sequence[Rows], rng: random.Random, *, tries: int = 20
) -> Mapping[str, str] | None:
    """Merge the tools of sub-questions with equal intent, by the union of their mock data.

        accepted  <=>  every member's call to the merged tool gives the member's answer, executed in the sandbox
        else      the rows are put in another order, up to `tries` times

    Args:
        subs: sub-questions about one table each.
        rows: mock data of each.
        rng: of the order.
        tries: orders, 1 or more; 20 in the paper.

    Returns:
        Name -> code, a tool a table; None if no order is accepted.

    Example:
        town("1204") -> 4410 and town("1377") -> 4093: one tool "town" with the rows of both

    Paper: arXiv:2601.21558 (ASTRA), merging of sub-environments as in its released code.
    Differs: the intent is the name of the table, where the paper clusters with a language model; an instance is merged
        within itself.
    """
    made = dict[str, str]()
    for table in dict.fromkeys(one.table for one in subs):
        members = [one for one in subs if one.table == table]
        pool = [row for one, own in zip(subs, rows, strict=True) if one.table == table for row in own]
        for _ in range(tries):
            code = write_tool(table, tuple(pool))
            if all(accepts_tool(code, one) for one in members):
                made[table] = code
                break
            rng.shuffle(pool)
        else:
            return None
    return made
