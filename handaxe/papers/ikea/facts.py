"""Facts to look up, half of which the start knows by heart: the world in which needless searches can be seen."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.records import Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.parts import people_facts as facts_tasks
from handaxe.worlds.parts.call_metrics import wasted_calls
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.people_facts import Asked, build_people, fact_cards, search_call
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["facts"]

KNOWN, UNKNOWN = "age", "desk"
WORDS = ("Say {0}.", "{0} is", "How much is {0}?", "The {0}:")
"""In none of these does a task ask."""
HABIT = DemonstrationNoise(needed=0.6, needless=0.9, clumsy=0.1)


def facts(*, size: int = 80, world_seed: int = 0) -> World:
    """Questions for an age or a desk of somebody, with a search tool that finds it.

    The policy that training starts from was taught every age by heart, those that the test asks for as well, and no
    desk. What it was shown searches for nine ages in ten all the same, and for six desks in ten.

    Args:
        size: people, 8 to 900; a quarter of them is asked of in tests alone.
        world_seed: of the facts.

    Returns:
        A world broken down by "known" (yes or no), scored by exact match, with the gauge wasted_calls.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "417 desk?": search {"query": "417 desk"} finds "[417 desk] 52", and the answer is "52"
    """
    people = build_people(seed=world_seed, size=size)

    def ask(name: str, rng: random.Random) -> Asked:
        field = rng.choice((KNOWN, UNKNOWN))
        metadata = {
            "known": "yes" if field == KNOWN else "no",
            "gold_documents": [f"{name} {field}"],
            "gold_calls": [search_call(name, field)],
        }
        return f"{name} {field}?", str(people.facts[name, field]), metadata

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        key = ("facts", world_seed, size)
        return facts_tasks.tasks(people, key=key, count=count, seed=seed, split=split, ask=ask)

    lessons = tuple(
        (words.format(f"{name} {field}"), str(value))
        for (name, field), value in people.facts.items()
        if field == KNOWN
        for words in WORDS
    )
    return World(
        name="facts",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(fact_cards(people), world="facts", results=1, snippet=20),),
        by=("known",),
        answered=answers_in_words,
        reference=kept_calls,
        expert=calls_then_answer(_searches),
        start=Start(HABIT, skill=40, steps=100, lessons=lessons, drill=200),
        gauges={"wasted_calls": wasted_calls(_needed)},
    )


def _searches(task: Task, facts: Facts) -> Sequence[ToolCall]:
    """The search, unless the answer is known by heart and the speaker is to be sure of it."""
    known = task.metadata["known"] == "yes" and facts.get("sure", True)
    return () if known else gold_searches(task, facts)


def _needed(task: Task) -> tuple[ToolCall, ...]:
    return kept_calls(task) if task.metadata["known"] == "no" else ()
