"""Rubric of a question: nuggets from passages that rewritten queries retrieve."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError

__all__ = ["Extract", "Retrieve", "Rewrite", "build_rubric"]

Rewrite = Callable[[str, Sequence[str]], Sequence[str]]
"""(question, nuggets so far) -> queries."""
Retrieve = Callable[[str], Sequence[str]]
"""Query -> passages."""
Extract = Callable[[str, str], Sequence[str]]
"""(query, passage) -> nuggets of the passage that answer the query; none for a passage beside the point."""


def build_rubric(
    question: str, *, rewrite: Rewrite, retrieve: Retrieve, extract: Extract, rounds: int = 4
) -> tuple[str, ...]:
    """Collect nuggets: rewrite the question into queries, retrieve passages, extract nuggets, and again.

        N_0 = ();   N_k+1 = N_k + the new nuggets of the passages of the new queries of rewrite(question, N_k)

    Queries of a later round may use earlier nuggets. No query is asked twice, and equal nuggets are merged.

    Args:
        question: of the task.
        rewrite: writer of queries, a rule or a language model.
        retrieve: search of a corpus or of the web.
        extract: writer of nuggets, a rule or a language model.
        rounds: at most, >= 1; the loop ends without a new query.

    Returns:
        Distinct nuggets, in the order in which they were found.

    Raises:
        InputError: rounds below 1.

    Example:
        "Who is the ally of the boss of kemi?": query "boss of kemi" gives "The boss of kemi is luta.", then query "ally
        of luta" gives "The ally of luta is sope."

    Paper: arXiv:2510.14660 (Search-Gen-V), automatic construction of rubrics by query rewriting.
    Unconfirmed: the number of rounds, and queries that use earlier nuggets.
    Differs: equal nuggets are merged by their text, without a language model.
    """
    if rounds < 1:
        raise InputError(f"rounds is {rounds}; give 1 or more")
    found, asked = dict[str, None](), set[str]()
    for _ in range(rounds):
        queries = [one for one in dict.fromkeys(rewrite(question, tuple(found))) if one not in asked]
        if not queries:
            break
        asked.update(queries)
        for query in queries:
            for passage in retrieve(query):
                found |= dict.fromkeys(extract(query, passage))
    return tuple(found)
