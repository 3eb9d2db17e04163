"""Invented library with a search tool: multi-hop questions whose answers occur nowhere else.

Kept: a search world without network for users.
"""

from __future__ import annotations

from handaxe.core.records import Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.library import tasks as library_tasks
from handaxe.worlds.library.obscured import obscured_tasks
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import reference_searches, search_tool
from handaxe.worlds.world import Split, World

__all__ = ["library"]


def library(
    *,
    hops: tuple[int, ...] = (1, 2),
    injections: tuple[int, ...] = (0,),
    blurs: int = 0,
    known: float = 0.0,
    results: int = 1,
    snippet: int = 130,
    size: int = 400,
    world_seed: int = 0,
) -> World:
    """Questions about invented people, towns, books and rivers, with a search tool over the library's documents.

    The index is cached (HANDAXE_CACHE, or ~/.cache/handaxe) by a digest of the documents. Training and test questions
    share no fact.

    Args:
        hops: number of facts of a question, each 1 to 4; drawn evenly.
        injections: how often facts about an entity replace its name in the question, 0 or more; drawn evenly. Each
            injection needs a further search.
        blurs: numbers replaced by ranges, such as 25 years; 0 in questions without injections.
        known: share of facts known by heart, 0 to 1; questions that are answerable with them are dropped.
        results: passages in a search result.
        snippet: character limit of a passage. A policy with 512 tokens of context reads two replies of 130 characters.
        size: approximate number of entities, 60 to 20,000.
        world_seed: seed of the library.

    Returns:
        A world broken down by "hops", and by "injections" if there are any, scored by exact match. It has no start:
        with a usual number of steps the tiny policy does not learn to copy names from replies of this length; `hops`
        has shorter replies.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).
    """

    plain = injections == (0,) and not known

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        if plain:
            return library_tasks.tasks(count=count, seed=seed, split=split, hops=hops, world=world_seed, size=size)
        return obscured_tasks(
            count=count,
            seed=seed,
            split=split,
            hops=hops,
            world=world_seed,
            size=size,
            injections=injections,
            blurs=blurs,
            known=known,
        )

    documents = library_tasks.library_documents(seed=world_seed, size=size)
    return World(
        name="library",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(documents, world="library", results=results, snippet=snippet),),
        breakdown=("hops",) if plain else ("hops", "injections"),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=calls_then_answer(reference_searches),
    )
