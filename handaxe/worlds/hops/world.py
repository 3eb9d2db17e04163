"""Multi-hop questions over a generated knowledge base, with distractors in search results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.hops import knowledge_base as hops_facts
from handaxe.worlds.hops.exploration import hops_exploration
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.call_metrics import REPEATED_CALLS, wasted_calls
from handaxe.worlds.parts.checklists import call_check, call_criteria
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import reference_searches, search_tool
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["hops"]

START = Start(DemonstrationNoise(call_rate=0.8, corrupt_rate=0.1), skill=400, steps=80)
NOTES_START = Start(skill=320, steps=0, batch_size=8)


def hops(
    *,
    lengths: tuple[int, ...] = (1, 2, 3, 4),
    distractors: int = 1,
    results: int = 2,
    repeats: float = 0.0,
    notes: bool = False,
    brief: bool = True,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions with an answer at the end of a chain of facts; each search needs the previous answer.

    Each task keeps the reference documents, answers and calls of its chain in its metadata, for rewards of partial
    progress. The index is cached (HANDAXE_CACHE, or ~/.cache/handaxe). Training and test questions are about disjoint
    people, and no fact connects the two groups.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        distractors: namesakes per person, 0 to 4, with other facts and names that differ in the last letter or digit.
        results: passages in a search result; all but the first are about another person or relation.
        repeats: share of the questions in which the expert repeats one of its searches. The second search returns
            nothing new; training is to remove it.
        notes: the expert states the remaining question beside each search; the last remainder is the answer. A tiny
            policy copies the remainder from turn to turn, and loses count of its searches without it.
        brief: names are numbers of four digits, and questions and passages are key words, for the tiny policy;
            otherwise names are words, and there are sentences.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops", scored by exact match, with the gauges wasted_calls and repeated_calls.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss ally?": search {"query": "4071 boss"} finds "[4071 boss] 4071 boss 5526", search {"query": "5526
        ally"} finds "[5526 ally] 5526 ally 1390", and the answer is "1390"
    """
    if not 0 <= repeats <= 1:
        raise InputError(f"repeats is {repeats}; a share of questions is 0 to 1")
    known = hops_facts.build_facts(seed=world_seed, size=size, distractors=distractors, digits=brief)
    key = (world_seed, size, distractors)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return hops_facts.tasks(known, key=key, count=count, seed=seed, split=split, hops=lengths, brief=brief)

    def searches(task: Task, facts: Facts) -> Sequence[ToolCall]:
        wanted = list(reference_searches(task, facts))
        rng = random.Random(derive_seed("repeats", task.id))
        if wanted and rng.random() < repeats:
            twice = rng.randrange(len(wanted))
            wanted.insert(twice, wanted[twice])
        return wanted

    searching = calls_then_answer(searches)

    def with_notes(task: Task, facts: Facts) -> Message:
        message = searching(task, facts)
        done = [reference_calls(task).index(call) + 1 for call in message.calls]
        rest = [str(call.arguments["query"]) for call in message.calls] + task.metadata["path"][sum(done) :]
        return replace(message, content=" ".join(rest)) if done else message

    return World(
        name="hops",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(hops_facts.fact_documents(known, brief=brief), world="hops", results=results, snippet=60),),
        breakdown=("hops",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=with_notes if notes else searching,
        start=(NOTES_START if notes else START) if brief else None,
        criteria=call_criteria(reference_calls),
        check=call_check(reference_calls, is_answer=is_text_answer),
        exploration=hops_exploration(known, lengths=lengths, brief=brief),
        gauges={"wasted_calls": wasted_calls(reference_calls), "repeated_calls": REPEATED_CALLS},
    )
