"""People who are numbers, what is known of each of them, and questions that ask for one fact or reckon with one."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Split

__all__ = ["Asked", "FIELDS", "People", "build_people", "fact_cards", "search_call", "tasks"]

FIELDS = {"age": (20, 89), "desk": (11, 99), "rank": (1, 9)}
"""What everybody has, and from where to where it goes."""
Asked = tuple[str, Any, Mapping[str, Any]]
"""Question, answer, metadata."""


class People(NamedTuple):
    """facts: (person, field) -> number. halves: of whom training and test ask."""

    facts: Mapping[tuple[str, str], int]
    halves: tuple[tuple[str, ...], tuple[str, ...]]


@functools.lru_cache(maxsize=8)
def build_people(*, seed: int, size: int) -> People:
    """Invent people, whose names are numbers of three digits, and an age, a desk and a rank for each.

    Args:
        seed: the same arguments give the same people.
        size: how many, 8 to 900; a quarter of them is the test half.

    Raises:
        InputError: a size out of range.

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


def fact_cards(known: People) -> list[dict[str, str]]:
    """One document a fact, sorted by id, for `build_index`.

    Example:
        {"id": "417 desk", "text": "52"}
    """
    return [{"id": f"{name} {field}", "text": str(value)} for (name, field), value in sorted(known.facts.items())]


def search_call(name: str, field: str) -> dict[str, Any]:
    """The call that finds a fact, as metadata keeps it."""
    return {"name": "search", "arguments": {"query": f"{name} {field}"}}


def tasks(
    known: People,
    *,
    key: Sequence[str | int],
    count: int,
    seed: int,
    split: Split,
    ask: Callable[[str, random.Random], Asked],
) -> list[Task]:
    """Make questions about people of one half.

    Args:
        known: the people.
        key: of the world, for ids.
        count: >= 1. A question may come again in long lists.
        seed: the same seed gives the same tasks, and the first k of them do not depend on count.
        split: train or test.
        ask: (person, draws) -> question, answer, metadata.

    Raises:
        TaskError: count below 1. InputError: another split.
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    if split not in ("train", "test"):
        raise InputError(f"split must be train or test, not {split!r}")
    half = known.halves[0 if split == "train" else 1]
    made = []
    for number in range(count):
        rng = random.Random(derive_seed(*key, seed, split, number))
        question, answer, metadata = ask(rng.choice(half), rng)
        name = "-".join(map(str, (*key, seed, split, number)))
        made.append(Task(name, (Message("user", question),), answer, None, metadata))
    return made
