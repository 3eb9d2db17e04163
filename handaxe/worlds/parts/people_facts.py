"""Invented people with numbers as names, facts about people, and a world of questions."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import search_tool
from handaxe.worlds.world import Split, World

__all__ = [
    "FIELDS",
    "People",
    "PersonQuestion",
    "build_people",
    "fact_cards",
    "lookup_tool",
    "people_tasks",
    "people_world",
    "search_call",
]

FIELDS = {"age": (20, 89), "desk": (11, 99), "rank": (1, 9)}
"""Fields of every person, with their ranges."""


class PersonQuestion(NamedTuple):
    """Text, answer and metadata of a task."""

    text: str
    answer: Any
    metadata: Mapping[str, Any]


class People(NamedTuple):
    """facts: (person, field) -> number. halves: people in training questions and people in test questions."""

    facts: Mapping[tuple[str, str], int]
    halves: tuple[tuple[str, ...], tuple[str, ...]]


@functools.lru_cache(maxsize=8)
def build_people(*, seed: int, size: int) -> People:
    """Invent people named by three-digit numbers, each with an age, a desk and a rank.

    Args:
        seed: equal arguments give equal people.
        size: number of people, 8 to 900; a quarter is the test half.

    Raises:
        InputError: size out of range.

    Example:
        facts[("417", "desk")] == 52
    """
    if not 8 <= size <= 900:
        raise InputError(f"there can be 8 to 900 people, not {size}")
    rng = random.Random(derive_seed("facts", seed, size))
    names = [str(number) for number in rng.sample(range(100, 1000), size)]
    facts = {(name, field): rng.randint(*span) for name in names for field, span in FIELDS.items()}
    cut = size // 4
    return People(facts, (tuple(names[cut:]), tuple(names[:cut])))


def fact_cards(people: People) -> list[dict[str, str]]:
    """Create one document per fact, sorted by id, for `build_index`.

    Example:
        {"id": "417 desk", "text": "52"}
    """
    return [{"id": f"{name} {field}", "text": str(value)} for (name, field), value in sorted(people.facts.items())]


def lookup_tool(people: People) -> Tool:
    """Create the tool `lookup`, which reads one fact by its key; a key without a fact is refused.

    Args:
        people: both halves.

    Example:
        lookup("417 desk") is "52"
    """

    @tool(timeout=None)
    def lookup(fact: Annotated[str, "person and field, such as 417 desk"]) -> str:
        """Look up a number of a person: age, desk or rank."""
        name, _, field = fact.strip().partition(" ")
        found = people.facts.get((name, field))
        if found is None:
            raise Retry(f"there is no such fact; give a person and {', '.join(FIELDS)}")
        return str(found)

    return lookup


def search_call(name: str, field: str) -> dict[str, Any]:
    """Create the search for a fact, in the format of task metadata."""
    return {"name": "search", "arguments": {"query": f"{name} {field}"}}


def people_tasks(
    people: People,
    *,
    key: Sequence[str | int],
    count: int,
    seed: int,
    split: Split,
    ask: Callable[[str, random.Random], PersonQuestion],
) -> list[Task]:
    """Create questions about people of one half.

    Args:
        people: both halves.
        key: identifies the world in task ids.
        count: number of tasks, >= 1. Long lists repeat questions.
        seed: equal seeds give equal tasks; the first k tasks are independent of count.
        split: train or test.
        ask: (person, random numbers) -> question.

    Raises:
        TaskError: count below 1. InputError: another split.
    """
    check_count(split, count)
    half = people.halves[0 if split == "train" else 1]
    made = []
    for number in range(count):
        rng = random.Random(derive_seed(*key, seed, split, number))
        question = ask(rng.choice(half), rng)
        name = "-".join(map(str, (*key, seed, split, number)))
        made.append(Task(name, (Message("user", question.text),), question.answer, None, question.metadata))
    return made


def people_world(
    name: str,
    *,
    size: int,
    world_seed: int,
    ask: Callable[[str, random.Random], PersonQuestion],
    cards: Sequence[dict[str, str]],
    snippet: int = 20,
) -> World:
    """Create a world of questions about `build_people(seed=world_seed, size=size)`, scored by exact match.

    Args:
        name: of the world.
        size: number of people, 8 to 900.
        world_seed: seed of the facts.
        ask: (person, random numbers) -> question; its metadata has "gold_calls".
        cards: documents of the world's tool `search`, which returns one passage.
        snippet: character limit of a passage.

    Returns:
        A world without an expert and a start.

    Raises:
        InputError: size out of range, or a missing package (extra [search]).
    """
    people = build_people(seed=world_seed, size=size)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return people_tasks(people, key=(name, world_seed, size), count=count, seed=seed, split=split, ask=ask)

    return World(
        name=name,
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(search_tool(cards, world=name, results=1, snippet=snippet),),
        is_answer=is_text_answer,
        reference=reference_calls,
    )
