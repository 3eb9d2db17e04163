"""Short descriptions of people, with several correct wordings, after a search."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers
from handaxe.worlds.parts.people_facts import FIELDS, PersonQuestion, build_people, people_world
from handaxe.worlds.parts.search_tools import reference_searches
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["descriptions", "rouge_l"]

START = Start(
    DemonstrationNoise(call_rate=0.85, corrupt_rate=0.1), skill=300, steps=15, batch_size=16, learning_rate=2e-3
)


def descriptions(*, size: int = 200, world_seed: int = 0) -> World:
    """Requests to describe a person by 1 to 3 fields, in either order, with a search tool for all fields.

    Args:
        size: number of people, 8 to 900; a quarter occurs in test questions only.
        world_seed: seed of the facts.

    Returns:
        A world broken down by "fields" (their number), scored by exact match with one of the references. Gauge rouge_l:
        the longest common subsequence of words with the best reference, as F1.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "417 desk rank.": search {"query": "417"} finds "[417] age 31 desk 52 rank 7"; correct answers are "desk is 52,
        rank is 7" and "rank is 7, desk is 52"
    """
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> PersonQuestion:
        fields = rng.sample(list(FIELDS), rng.randint(1, len(FIELDS)))
        clauses = [f"{field} is {people.facts[name, field]}" for field in fields]
        references = list(dict.fromkeys((", ".join(clauses), ", ".join(clauses[::-1]))))
        metadata = {
            "fields": len(fields),
            "gold_documents": [name],
            "gold_calls": [{"name": "search", "arguments": {"query": name}}],
        }
        return PersonQuestion(f"{name} {' '.join(fields)}.", references, metadata)

    names = sorted(name for half in people.halves for name in half)
    cards = [
        {"id": name, "text": " ".join(f"{field} {people.facts[name, field]}" for field in FIELDS)} for name in names
    ]
    return replace(
        people_world("described", size=size, world_seed=world_seed, ask=ask, cards=cards, snippet=60),
        name="descriptions",
        breakdown=("fields",),
        expert=_expert,
        start=START,
        gauges={"rouge_l": RatioMetric(lambda one, outcome: _rouge(one))},
    )


def rouge_l(prediction: Sequence[str], reference: Sequence[str]) -> float:
    """Compute the F1 of the longest common subsequence.

        L = length of the longest common subsequence;   2 L / (|prediction| + |reference|), 0 for two empty lists

    Example:
        "desk is 52" against "desk is 52, rank is 7": L = 3 of 3 and 6 words -> 2 * 3 / 9 = 0.6667
    """
    row = [0] * (len(reference) + 1)
    for word in prediction:
        before = row[:]
        for k, other in enumerate(reference):
            row[k + 1] = before[k] + 1 if word == other else max(before[k + 1], row[k])
    total = len(prediction) + len(reference)
    return 2 * row[-1] / total if total else 0.0


def _rouge(one: Trajectory) -> float:
    prediction = final_text(one).replace(",", " ").split()
    return max(rouge_l(prediction, gold.replace(",", " ").split()) for gold in gold_answers(one.task))


def _expert(task: Task, facts: Facts) -> Message:
    calls: Sequence[ToolCall] = reference_searches(task, facts)
    if facts["turn"] < len(calls):
        return Message("assistant", "", (calls[facts["turn"]],))
    return Message("assistant", str(gold_answers(task)[0]))
