"""Questions of one to four hops through a generated knowledge base, whose search tool finds distractors as well."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.hops import facts as hops_facts
from handaxe.worlds.hops.exploring import exploring_hops
from handaxe.worlds.parts.call_metrics import REPEATED_CALLS, wasted_calls
from handaxe.worlds.parts.checklists import call_check, call_criteria
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["hops"]

START = Start(DemonstrationNoise(needed=0.8, clumsy=0.1), skill=400, steps=80)
NOTING = Start(skill=320, steps=0, batch_size=8)


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
    """Questions whose answer stands at the end of a chain of facts, each to be searched for by the answer before it.

    Every task keeps the gold documents, answers and calls of its chain in its metadata, so that a reward can see how
    far an attempt came. The index is made once and kept in the cache folder (HANDAXE_CACHE, or ~/.cache/handaxe).
    Training and test ask of different people, and no fact leads from the ones to the others.

    Args:
        lengths: how many facts a question needs, each 1 to 4; drawn evenly.
        distractors: people for each, 0 to 4, with facts of their own and names that differ by the last letter or digit.
        results: passages that a search shows; all but the first are about somebody or something else.
        repeats: share of the questions in which the expert makes one of its searches twice; the second finds what the
            first did, and is what a policy that begins from its conversations has to unlearn.
        notes: beside each search the expert says the question that is left, of which its answer is what is left in the
            end. A tiny policy copies that from one turn to the next, where without it it loses count of its searches.
        brief: people are numbers of four digits, and questions and passages key words, for the tiny policy; else they
            have names, and there are sentences.
        size: people of whom questions ask, 16 to 900; four facts each.
        world_seed: of the knowledge base.

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
        wanted = list(gold_searches(task, facts))
        rng = random.Random(derive_seed("repeats", task.id))
        if wanted and rng.random() < repeats:
            twice = rng.randrange(len(wanted))
            wanted.insert(twice, wanted[twice])
        return wanted

    search_on = calls_then_answer(searches)

    def noting(task: Task, facts: Facts) -> Message:
        said = search_on(task, facts)
        done = [kept_calls(task).index(call) + 1 for call in said.calls]
        left = [str(call.arguments["query"]) for call in said.calls] + task.metadata["path"][sum(done) :]
        return replace(said, content=" ".join(left)) if done else said

    return World(
        name="hops",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(hops_facts.fact_documents(known, brief=brief), world="hops", results=results, snippet=60),),
        by=("hops",),
        answered=answers_in_words,
        reference=kept_calls,
        expert=noting if notes else search_on,
        start=(NOTING if notes else START) if brief else None,
        criteria=call_criteria(kept_calls),
        check=call_check(kept_calls, answered=answers_in_words),
        exploring=exploring_hops(known, lengths=lengths, brief=brief),
        gauges={"wasted_calls": wasted_calls(kept_calls), "repeated_calls": REPEATED_CALLS},
    )
