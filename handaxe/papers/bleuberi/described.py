"""Short descriptions, which can be worded in more than one way, of people who have to be looked up."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers
from handaxe.worlds.parts import people_facts as facts_tasks
from handaxe.worlds.parts.people_facts import FIELDS, Asked, build_people
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["described", "rouge_l"]

START = Start(DemonstrationNoise(needed=0.85, clumsy=0.1), skill=300, steps=15, batch_size=16, learning_rate=2e-3)


def described(*, size: int = 200, world_seed: int = 0) -> World:
    """Requests to describe somebody in one to three fields, in either order, with a search tool that finds all.

    Args:
        size: people, 8 to 900; a quarter of them is asked of in tests alone.
        world_seed: of the facts.

    Returns:
        A world broken down by "fields" (how many), scored by exact match with one of the references. Gauge rouge_l: the
        longest common subsequence of words with the best reference, as F1.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "417 desk rank.": search {"query": "417"} finds "[417] age 31 desk 52 rank 7", and right are "desk is 52, rank
        is 7" and "rank is 7, desk is 52"
    """
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> Asked:
        fields = rng.sample(list(FIELDS), rng.randint(1, len(FIELDS)))
        worded = [f"{field} is {people.facts[name, field]}" for field in fields]
        references = list(dict.fromkeys((", ".join(worded), ", ".join(worded[::-1]))))
        metadata = {
            "fields": len(fields),
            "gold_documents": [name],
            "gold_calls": [{"name": "search", "arguments": {"query": name}}],
        }
        return f"{name} {' '.join(fields)}.", references, metadata

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        key = ("described", world_seed, size)
        return facts_tasks.tasks(people, key=key, count=count, seed=seed, split=split, ask=ask)

    names = sorted(name for half in people.halves for name in half)
    cards = [
        {"id": name, "text": " ".join(f"{field} {people.facts[name, field]}" for field in FIELDS)} for name in names
    ]
    return World(
        name="described",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(cards, world="described", results=1, snippet=60),),
        by=("fields",),
        answered=answers_in_words,
        reference=kept_calls,
        expert=_expert,
        start=START,
        gauges={"rouge_l": RatioMetric(lambda one, outcome: _rouge(one))},
    )


def rouge_l(said: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of the longest common subsequence.

        L = length of the longest list that is in both in order;   2 L / (|said| + |reference|), 0 of two empty ones

    Example:
        "desk is 52" against "desk is 52, rank is 7": L = 3 of 3 and 6 words -> 2 * 3 / 9 = 0.6667
    """
    row = [0] * (len(reference) + 1)
    for word in said:
        before = row[:]
        for k, other in enumerate(reference):
            row[k + 1] = before[k] + 1 if word == other else max(before[k + 1], row[k])
    total = len(said) + len(reference)
    return 2 * row[-1] / total if total else 0.0


def _rouge(one: Trajectory) -> float:
    said = final_text(one).replace(",", " ").split()
    return max(rouge_l(said, gold.replace(",", " ").split()) for gold in gold_answers(one.task))


def _expert(task: Task, facts: Facts) -> Message:
    calls: Sequence[ToolCall] = gold_searches(task, facts)
    if facts["turn"] < len(calls):
        return Message("assistant", "", (calls[facts["turn"]],))
    return Message("assistant", str(gold_answers(task)[0]))
