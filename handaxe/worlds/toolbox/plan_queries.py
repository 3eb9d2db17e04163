"""Query planning by rules: rewriting and decomposition of a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.index.lexical import tokenize_words
from handaxe.worlds.toolbox.tool_documents import ToolDocument, base_verb

__all__ = ["QueryPlan", "decompose_query", "plan_queries", "rewrite_query", "task_verbs"]

FRAME = re.compile(
    r"\b(?:please|kindly|could you|can you|would you|will you|i would like (?:you )?to|i'd like (?:you )?to|"
    r"i want (?:you )?to|i need (?:you )?to|help me(?: to)?|let me know|tell me|i wonder|for me|"
    r"thanks?|thank you|hi|hello|hey)\b",
    re.IGNORECASE,
)
"""Words of politeness, which name no tool."""
SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
ASKED = ("compare", "determine", "do", "give", "help", "make", "need", "provide", "show", "tell", "want")
"""Verbs of requests beside those of tools."""
QUESTION = ("what", "how", "who", "when", "where", "which", "why", "is", "are", "does", "do", "did")
JOINT = r"(?:,?\s+(?:and then|then|and also|also|after that|and finally|finally|and)|,|;)\s+"
NO_VERBS = ("a", "an", "api", "function", "given", "the", "thi", "this", "to")
"""First words of descriptions that are no verbs."""
LEAST_WORDS = 2
"""Content words of a sub-query."""


class QueryPlan(NamedTuple):
    """Sub-queries of a request, each with its variations; the first variation is the sub-query."""

    variations: tuple[tuple[str, ...], ...]

    @property
    def subqueries(self) -> tuple[str, ...]:
        """First variation of each sub-query."""
        return tuple(own[0] for own in self.variations)


def plan_queries(text: str, verbs: Collection[str], *, rewrite: bool = True, decompose: bool = True) -> QueryPlan:
    """Plan the queries of a request by rules: rewriting, then decomposition. A sub-query is its only variation.

    Args:
        text: request of a user.
        verbs: of `task_verbs`.
        rewrite, decompose: False leaves a step out.

    Returns:
        At least one sub-query.

    Example:
        "Please find the area of a circle and calculate the sum of 3 and 4." is planned as "find the area of a circle"
        and "calculate the sum of 3 and 4"

    Idea: arXiv:2410.14594 (Toolshed) asks a language model for rewriting and decomposition.
    """
    whole = rewrite_query(text) if rewrite else text.strip()
    return QueryPlan(tuple((part,) for part in (decompose_query(whole, verbs) if decompose else (whole,))))


def rewrite_query(text: str) -> str:
    """Remove words of politeness and repeated white space; a text of such words alone stays.

    Example:
        "Could you please find my  keys?"  ->  "find my keys?"
    """
    bare = re.sub(r"\s+", " ", FRAME.sub(" ", text.replace("\n", "\n. "))).strip(" ,.")
    return bare or text.strip()


def decompose_query(text: str, verbs: Collection[str]) -> tuple[str, ...]:
    """Split a request at sentences, and at a conjunction or comma before a verb of a task or a question word.

    A sentence without such a word is context: it joins the next part, or the last part at the end. A part of fewer than
    two content words joins the part before.

    Args:
        text: the request.
        verbs: of `task_verbs`, in lower case.

    Returns:
        At least one part, in order.

    Example:
        "I am in Paris. Find a hotel, then book a taxi." with the verbs find and book  ->
        ("I am in Paris. Find a hotel", "book a taxi.")
    """
    starts = "|".join(
        re.escape(word) for word in sorted({*verbs, *ASKED, *QUESTION}, key=lambda word: (-len(word), word))
    )
    cut = re.compile(rf"{JOINT}(?=(?:{starts})\b)", re.IGNORECASE)
    cue = re.compile(rf"\b(?:{starts})\b", re.IGNORECASE)
    pieces = [
        piece.strip() for sentence in SENTENCE.split(text) for piece in cut.split(sentence) if piece.strip(" .,;")
    ]
    parts: list[str] = []
    context = ""
    for piece in pieces:
        if not cue.search(piece):
            context = f"{context} {piece}".strip()
        elif parts and len(tokenize_words(piece)) < LEAST_WORDS:
            parts[-1] = f"{parts[-1]} {piece}"
        else:
            parts.append(f"{context} {piece}".strip())
            context = ""
    if context:
        parts = [*parts[:-1], f"{parts[-1]} {context}"] if parts else [context]
    return tuple(parts) or (text,)


def task_verbs(documents: Iterable[ToolDocument], least: int = 2) -> frozenset[str]:
    """Collect the verbs of tasks: first words of the tools' descriptions, in the base form.

    Args:
        documents: of all tools.
        least: tools that begin with a word, 1 or more.

    Example:
        "Calculates the area.", "Calculate a sum." and "Finds a hotel." with least 2  ->  {"calculate"}
    """
    if least < 1:
        raise InputError(f"a verb begins the description of 1 tool or more, not {least}")
    counts: dict[str, int] = {}
    for one in documents:
        word = base_verb(one.description).split(" ")[0].strip(".,:").lower()
        if word.isalpha() and word not in NO_VERBS:
            counts[word] = counts.get(word, 0) + 1
    return frozenset(word for word, count in counts.items() if count >= least)
