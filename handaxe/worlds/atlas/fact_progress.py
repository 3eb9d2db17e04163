"""Progress through the facts of a question, from the pages in tool results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from handaxe.core.records import Criterion, Task, ToolReply, Trajectory
from handaxe.rewards.parts.reference import gold_answers, normalise
from handaxe.worlds.atlas.pages import is_shown
from handaxe.worlds.parts.answering import is_text_answer

__all__ = ["fact_check", "fact_criteria", "missing_facts", "shown_pages"]

ANSWER = "answer"
HEAD = re.compile(r"^\[([^\]\n]+)\]", re.MULTILINE)
"""Start of a page in a tool result."""


def fact_criteria(task: Task) -> list[Criterion]:
    """Create criteria of a point each: 1 shown fact, 2 shown facts, ..., and the answer.

    Example:
        two facts -> "facts 1", "facts 2", "answer"
    """
    count = max(len(proof) for proof in task.metadata["proofs"])
    facts = [Criterion(f"facts {n}", f"Tool results show {n} of {count} facts.") for n in range(1, count + 1)]
    return [*facts, Criterion(ANSWER, "It states a correct answer.")]


def fact_check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check the criteria by rule, [C, N] over criteria and turns: facts count for the derivation with the fewest
    missing facts, and met criteria stay met."""
    task, pages = trajectory.task, list[tuple[str, str]]()
    count = max(len(proof) for proof in task.metadata["proofs"])
    golds = {normalise(gold) for gold in gold_answers(task)}
    met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
    for n, turn in enumerate(trajectory.turns):
        pages += shown_pages(turn.replies)
        shown = count - _missing(task, pages)
        stated = is_text_answer(turn) and normalise(turn.parsed.text) in golds
        met_CN[:, n] = [stated if one.name == ANSWER else int(one.name.split()[1]) <= shown for one in criteria]
    return np.logical_or.accumulate(met_CN, axis=1)


def missing_facts(trajectory: Trajectory, outcome: float) -> float:
    """Count the facts without a tool result, for the derivation with the fewest."""
    del outcome
    return float(_missing(trajectory.task, shown_pages(trajectory.replies)))


def shown_pages(replies: Iterable[ToolReply]) -> list[tuple[str, str]]:
    """Parse (document, text) pairs of the pages in successful results of `search` and `open`.

    Example:
        "[752 dial] 46" -> [("752 dial", " 46")]
    """
    found = []
    for reply in replies:
        if reply.status == "ok":
            _, *parts = HEAD.split(reply.content)
            found += list(zip(parts[::2], parts[1::2]))
    return found


def _missing(task: Task, pages: Sequence[tuple[str, str]]) -> int:
    return min(sum(not is_shown(places, pages) for places in proof) for proof in task.metadata["proofs"])
