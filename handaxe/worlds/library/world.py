"""An invented library to search in: questions of several hops, whose answers stand nowhere else."""

from __future__ import annotations

from handaxe.core.records import Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.library import tasks as library_tasks
from handaxe.worlds.library.obscured import obscured_tasks
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool
from handaxe.worlds.sums import kept_calls
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
    """Questions about invented people, towns, books and rivers, with a tool that searches the library's documents.

    The index is made once and kept in the cache folder (HANDAXE_CACHE, or ~/.cache/handaxe), by digest of the
    documents. Training and test questions share no fact.

    Args:
        hops: how many facts a question needs, each 1 to 4; drawn evenly.
        injections: how often what a question names gives way to facts about it, 0 or more; drawn evenly. Each takes a
            search of its own.
        blurs: how many numbers then give way to ranges, such as 25 years; 0 in questions without injections.
        known: share of the facts that somebody has by heart, 0 to 1; a question that they can answer is left out.
        results: passages that a search shows.
        snippet: most characters shown of a passage. A policy with 512 tokens of context reads two replies of 130.
        size: about how many entities the library tells of, 60 to 20,000.
        world_seed: of what the library tells.

    Returns:
        A world broken down by "hops", and by "injections" where there are any, scored by exact match. It has no start:
        the tiny policy did not learn to read names out of replies of this length in a start of usual length; `hops` is
        the same with shorter ones.

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

    documents = library_tasks.documents(seed=world_seed, size=size)
    return World(
        name="library",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(documents, world="library", results=results, snippet=snippet),),
        by=("hops",) if plain else ("hops", "injections"),
        answered=answers_in_words,
        reference=kept_calls,
        expert=calls_then_answer(gold_searches),
    )
