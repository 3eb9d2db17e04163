"""Criteria of multi-hop searches, checked by rule without the reference answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Criterion, Task, Trajectory

__all__ = ["GENERAL_ITEMS", "SEARCH_PREFIX", "check_searches", "question_words", "search_item"]

SEARCH_PREFIX = "search "
"""Prefix of the names of criteria of one relation."""
GENERAL_ITEMS = (
    Criterion("grounded", "The answer stands in a search result.", 4.0),
    Criterion("one word", "The answer is one word.", 1.0),
    Criterion("failed", "A call fails or is malformed.", -2.0),
    Criterion("repeated", "A search is repeated.", -2.0),
    Criterion("off topic", "A search is for a relation that the question does not name.", -2.0),
)
"""Criteria of every question."""


def search_item(relation: str) -> Criterion:
    """Make the criterion of a relation in the question.

    Example:
        "boss" -> "It searches for the boss of somebody.", 3 points
    """
    return Criterion(f"{SEARCH_PREFIX}{relation}", f"It searches for the {relation} of somebody.", 3.0)


def question_words(task: Task) -> list[str]:
    """Words of the question, the person first and then the relations.

    Example:
        "4071 boss ally?" -> 4071, boss, ally
    """
    return task.messages[-1].content.rstrip("? ").split() if task.messages else []


def check_searches(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria of `GENERAL_ITEMS` and `search_item` by rule.

        search R     a successful call whose query names R and a person of the question or of a result before
        grounded     the turn's text, without a call, is a word of a result before
        one word     the turn's text, without a call, is a word
        failed       a reply without the status ok, or a malformed call
        repeated     a call that equals an earlier one
        off topic    a query with a word that is neither in the question nor a person of a result before

    Args:
        trajectory: a rollout in `hops`.
        criteria: with these names.

    Returns:
        [C, N] bool: met in this turn or before. Criteria of other names are never met.

    Example:
        "4071 boss?", the query "4071 boss" with the result "4071 boss 5526", the answer 5526: search boss from turn 0,
        grounded and one word from turn 1

    Idea: a rubric's judge as a rule.
    """
    asked = set(question_words(trajectory.task))
    seen, made = set(asked), set[str]()
    met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
    place = {one.name: c for c, one in enumerate(criteria)}

    def meet(name: str, turn: int) -> None:
        if name in place:
            met_CN[place[name], turn:] = True

    for n, turn in enumerate(trajectory.turns):
        bad = {own.call_id for own in turn.replies if own.status != "ok"}
        if bad or turn.parsed.errors:
            meet("failed", n)
        text = turn.parsed.text.strip()
        if not turn.parsed.calls and not turn.parsed.errors and len(text.split()) == 1:
            meet("one word", n)
            if text in seen - asked:
                meet("grounded", n)
        for call in turn.parsed.calls:
            words = str(call.arguments.get("query", "")).split()
            if (key := f"{call.name} {words}") in made:
                meet("repeated", n)
            made.add(key)
            if not set(words) <= seen:
                meet("off topic", n)
            if call.id not in bad and words and words[0] in seen:
                for word in words[1:]:
                    meet(f"{SEARCH_PREFIX}{word}", n)
        seen |= {word.strip("[]") for own in turn.replies if own.status == "ok" for word in own.content.split()}
    return met_CN
