"""Fact questions, half answered from memory by the start policy, for measuring needless searches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.records import Task, ToolCall
from handaxe.worlds.parts.call_metrics import wasted_calls
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.people_facts import PersonQuestion, build_people, fact_cards, people_world, search_call
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import reference_searches
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["facts"]

KNOWN, UNKNOWN = "age", "desk"
PHRASES = ("Say {0}.", "{0} is", "How much is {0}?", "The {0}:")
"""Wordings of warmup pairs; no task uses one."""
NOISE = DemonstrationNoise(call_rate=0.6, spurious_rate=0.9, corrupt_rate=0.1)


def facts(*, size: int = 80, world_seed: int = 0) -> World:
    """Questions for the age or the desk of a person, with a search tool that finds both.

    The start policy memorizes every age, those of test questions included, and no desk. Its demonstrations search for
    nine in ten ages and for six in ten desks.

    Args:
        size: number of people, 8 to 900; a quarter occurs in test questions only.
        world_seed: seed of the facts.

    Returns:
        A world broken down by "known" (yes or no), scored by exact match, with the gauge wasted_calls.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "417 desk?": search {"query": "417 desk"} finds "[417 desk] 52", and the answer is "52"
    """
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> PersonQuestion:
        field = rng.choice((KNOWN, UNKNOWN))
        metadata = {
            "known": "yes" if field == KNOWN else "no",
            "gold_documents": [f"{name} {field}"],
            "gold_calls": [search_call(name, field)],
        }
        return PersonQuestion(f"{name} {field}?", str(people.facts[name, field]), metadata)

    warmup = tuple(
        (phrase.format(f"{name} {field}"), str(value))
        for (name, field), value in people.facts.items()
        if field == KNOWN
        for phrase in PHRASES
    )
    return replace(
        people_world("facts", size=size, world_seed=world_seed, ask=ask, cards=fact_cards(people)),
        breakdown=("known",),
        expert=calls_then_answer(_searches),
        start=Start(NOISE, skill=40, steps=100, warmup=warmup, warmup_steps=200),
        gauges={"wasted_calls": wasted_calls(_needed)},
    )


def _searches(task: Task, facts: Facts) -> Sequence[ToolCall]:
    """The search; none for a memorized answer unless the expert is to be unsure."""
    memorized = task.metadata["known"] == "yes" and facts.get("sure", True)
    return () if memorized else reference_searches(task, facts)


def _needed(task: Task) -> tuple[ToolCall, ...]:
    return reference_calls(task) if task.metadata["known"] == "no" else ()
