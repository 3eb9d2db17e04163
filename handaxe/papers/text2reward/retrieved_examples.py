"""Examples of other tasks in the request for a program, retrieved by similarity."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.ops.text_store import Embed, TextStore
from handaxe.papers.text2reward.example_programs import Example
from handaxe.tools.index.dense import embed as embed_sentences
from handaxe.training.stages.parts.asked_author import Describe
from handaxe.training.stages.parts.program_search import Brief

__all__ = ["retrieved_examples"]

HEAD = "Programs of other tasks, with other keys:"


def retrieved_examples(
    describe: Describe, *, pool: Sequence[Example], goal: str, count: int, author: str, embed: Embed = embed_sentences
) -> Describe:
    """Put the most similar examples of a pool after a description.

        request = description, then the `count` examples of the largest cosine(e(goal + description), e(instruction))

    Args:
        describe: request -> description of the numbers.
        pool: examples.
        goal: name of the tasks.
        count: of the examples, >= 0; 0 leaves the description as it is.
        author: who gets the request; the grammar reads none.
        embed: e, texts -> vectors of norm 1.

    Returns:
        A description for `asked_author`; the most similar example is first, and ties go to the later one.

    Raises:
        InputError: `count` is negative or above the size of the pool, or the grammar is to read examples.

    Example:
        goal "grid", instructions "walk in a grid" and "add numbers", count 1 -> the program of "walk in a grid"

    Paper: arXiv:2309.11489 (Text2Reward), few-shot examples of instruction and reward code from a pool.
    Unconfirmed: which embedding ranks the pool, and how many examples a request has.
    Differs: examples have other keys than the task; the class of the environment is part of the query.
    """
    if not 0 <= count <= len(pool):
        raise InputError(f"--examples is {count}, and the pool has {len(pool)}: give 0 to {len(pool)}")
    if not count:
        return describe
    if author == "grammar":
        raise InputError(f"--examples {count} goes into the request to a model: name one with --author")

    def described(brief: Brief) -> str:
        store = TextStore(embed)
        for one in pool:
            store.add(one.instruction)
        text = describe(brief)
        nearest = [pool[found.number] for found in store.nearest(f"{goal}\n{text}", k=count)]
        shown = [f"Task: {one.instruction}\n```python\n{one.program.strip()}\n```" for one in nearest]
        return "\n\n".join([text, HEAD, *shown])

    return described
