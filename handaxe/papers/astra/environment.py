"""Environment of a question: verified sub-questions, written and merged tools, and distractor tools."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message, Task
from handaxe.papers.astra.distractors import draw_distractors
from handaxe.papers.astra.qa_traces import QaTrace
from handaxe.papers.astra.records import TABLES
from handaxe.papers.astra.sub_questions import SubQuestion
from handaxe.papers.astra.tool_writing import Rows, accepts_tool, mock_rows, write_tool

__all__ = ["OLD", "ToolText", "environment_task", "tool_texts", "written_rows"]

OLD = "_old"
"""End of the name of a distractor that looks like a needed tool and has other data."""
OTHERS = {"clock": "Tell the time.", "dice": "Roll two dice.", "alarm": "Wake me up."}


class ToolText(NamedTuple):
    """Code and description of a tool.

    Example:
        ToolText(write_tool("town", rows), "Look up the town of a person.")
    """

    code: str
    description: str


def tool_texts() -> dict[str, str]:
    """Name -> description of every tool, for similarities.

    Example:
        "town" -> "Look up the town of a person.", "town_old" -> "Look up the old town of a person."

    Paper: arXiv:2601.21558 (ASTRA), tool documents.
    Differs: a rule writes them, where the paper asks a language model.
    """
    found = {table: f"Look up the {table} of a {source}." for table, (source, _) in TABLES.items()}
    old = {f"{table}{OLD}": f"Look up the old {table} of a {source}." for table, (source, _) in TABLES.items()}
    return {**found, **old, **OTHERS}


def written_rows(subs: Sequence[SubQuestion], rng: random.Random, *, tries: int = 5) -> list[Rows] | None:
    """Write the mock data of a tool for each sub-question; data that the sandbox refuses are written again.

    Args:
        subs: sub-questions about one table each.
        rng: of the data.
        tries: writings of a tool, 1 or more.

    Returns:
        Rows for each sub-question; None if no writing of one is accepted, or a sub-question has no answer.

    Example:
        (town, 1204, 4410): rows (1204, 4410), (2577, 5722), ... are accepted; (1204, 4410), (1204, 5722), ... are
        written again, since the second value of 1204 replaces its answer

    Paper: arXiv:2601.21558 (ASTRA), tools accepted if the sandbox's output contains the answer, with retries.
    Differs: a rule writes the data.
    """
    found = list[Rows]()
    for one in subs:
        for _ in range(tries if one.table in TABLES and one.answer else 0):
            rows = mock_rows(one.table, ((one.key, one.answer),), rng)
            if accepts_tool(write_tool(one.table, rows), one):
                found.append(rows)
                break
        else:
            return None
    return found


def environment_task(
    trace: QaTrace,
    subs: Sequence[SubQuestion],
    codes: Mapping[str, str],
    rng: random.Random,
    *,
    name: str = "",
    counts: tuple[int, int, int] = (1, 1, 1),
) -> Task:
    """Make the task of an accepted environment.

    Args:
        trace: question and answer.
        subs: its sub-questions.
        codes: name -> code of the needed tools.
        rng: of the distractors and their data.
        name: id of the task.
        counts: distractors of the bands, see `draw_distractors`.

    Returns:
        A task with the offered tools in alphabetical order and metadata: environment, {tool: code and description};
        unsolved, {tool: [answer, ...]}; sub_questions; gold_calls; needed, names of needed tools; and sub_count.

    Example:
        "1204 town mayor?", counts (1, 0, 1): tools clock, mayor, town and town_old, needed [mayor, town], unsolved
        {town: [4410], mayor: [3071]}

    Paper: arXiv:2601.21558 (ASTRA), environments with irrelevant tools.
    Differs: distractors have invented data instead of other servers' tools.
    """
    texts = tool_texts()
    others = draw_distractors(list(codes), texts, rng, counts=counts)
    written = {**codes, **{one: _other_code(one, subs, rng) for one in others}}
    unsolved = dict[str, list[str]]()
    for one in subs:
        unsolved.setdefault(one.table, []).append(one.answer)
    metadata: dict[str, Any] = {
        "environment": {tool: [code, texts[tool]] for tool, code in sorted(written.items())},
        "unsolved": unsolved,
        "sub_questions": [list(one) for one in subs],
        "gold_calls": [{"name": one.table, "arguments": {"name": one.key}} for one in subs],
        "needed": sorted(codes),
        "sub_count": len(subs),
    }
    return Task(name, (Message("user", trace.question),), trace.answer, tuple(sorted(written)), metadata)


def _other_code(tool: str, subs: Sequence[SubQuestion], rng: random.Random) -> str:
    """Code of a distractor: invented values for the keys of the question, or for other keys."""
    table = tool.removesuffix(OLD)
    keys = [one.key for one in subs] if tool.endswith(OLD) else []
    rows = mock_rows(table if table in TABLES else "aunt", (), rng, count=len(keys) + 4)
    own = tuple((key, value) for key, (_, value) in zip(keys, rows, strict=False))
    answers = {one.answer for one in subs}
    return write_tool(tool, tuple(row for row in (*rows[len(keys) :], *own) if row[1] not in answers))
