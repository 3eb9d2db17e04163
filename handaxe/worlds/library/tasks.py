"""Documents and multi-hop questions of the library."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.library.entities import RELATIONS, Entity, LibraryWorld, build_world
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Split

__all__ = ["PHRASINGS", "library_documents", "tasks"]

PHRASINGS = ("What is {0}?", "Find {0}.", "{0}?")
CHRONICLES = 4
"""Entities per page of the chronicle, whose entries name people and places and answer nothing."""
DEEDS = ("visited", "left", "praised", "painted", "dreamt of", "wrote a letter about")


def library_documents(*, seed: int = 0, size: int = 400) -> list[dict[str, str]]:
    """Create the documents of an invented world: an article per entity, and a chronicle as a distractor.

    A document has the entity's name as id and title. Its text states the kind, the alias if there is one, and the facts
    in a fixed order, each "label: answer.". It has at most 200 characters, the length of a search result. Other
    documents mention the entity, sometimes by its alias: a matching name is not yet the answer. The chronicle's pages
    ("year 1512") describe visits that no question asks about.

    Args:
        seed: seed of the world; equal seeds and sizes give equal text. It is independent of the seed of tasks.
        size: approximate number of entities, 60 to 20,000.

    Returns:
        Objects with id, title and text, all lower-case ASCII, sorted by id, for `build_index`.

    Raises:
        InputError: size out of range.

    Example:
        {"id": "luta", "title": "luta", "text": "luta is a river, also called dorum. source: sone. length: 814. often
        confused with kemi."}
    """
    world = build_world(seed=seed, size=size)
    rng = random.Random(derive_seed("library documents", seed, size))
    made = [_describe(entity, world, rng) for entity in world.entities.values()]
    return sorted(made + _chronicle(world, rng), key=lambda document: document["id"])


def tasks(
    *,
    count: int,
    seed: int,
    split: Split = "train",
    hops: Sequence[int] = (1, 2, 3, 4),
    world: int = 0,
    size: int = 400,
    tools: tuple[str, ...] | None = None,
    phrasings: Sequence[str] = PHRASINGS,
) -> list[Task]:
    """Create questions about the world of `library_documents(seed=world, size=size)`.

    A question chains relations from a named entity to the answer: "What is the river of the birthplace of tolven?".
    The answer is one lower-case word or a number. One in three questions about an entity with an alias uses the alias.

    Train and test share no fact: the world is two halves whose entities never name each other, and a chain stays in
    its half, independent of seed and count. The documents contain both halves: a test measures search and not memory.

    Args:
        count: number of tasks, >= 1. Short chains are few (about 3 per entity with one hop) and repeat in long lists.
        seed: equal seeds give equal tasks; the first k tasks are independent of count.
        split: train or test.
        hops: number of facts of a question, each 1 to 4; drawn evenly.
        world: seed of the world.
        size: size of the world.
        tools: names of the offered tools; None: all tools of the environment.
        phrasings: formats of the question, `{0}` is the requested entity or value.

    Returns:
        Tasks with the answer as text and metadata: hops; start (the name in the question); path (the relations, first
            step
        first); gold_documents (ids in order of use); gold_answers (of each step; the last is the answer); gold_calls
        ([{"name": "search", "arguments": {"query": ...}}], one per hop).

    Raises:
        TaskError: count below 1. InputError: another argument out of range.

    Example:
        "What is the river of the birthplace of tolven?" has the path ["birthplace", "river"], the documents
        ["tolven", "kemi"] and, if kemi lies on the luta, the answer "luta".
    """
    check_count(split, count)
    if not phrasings or not hops or not set(hops) <= {1, 2, 3, 4}:
        raise InputError(f"give hops 1 to 4 and one phrasing or more: {list(hops)}, {list(phrasings)}")
    made = build_world(seed=world, size=size)
    parts = ("library", world, size, seed, split)
    names = made.halves[0 if split == "train" else 1]
    return [_task(made, names, (*parts, number), hops, tools, phrasings) for number in range(count)]


def _task(
    world: LibraryWorld,
    names: Sequence[str],
    key: tuple[str | int, ...],
    hops: Sequence[int],
    tools: tuple[str, ...] | None,
    phrasings: Sequence[str],
) -> Task:
    rng = random.Random(derive_seed(*key))
    length = rng.choice(list(hops))
    path, visited = _chain(world, rng.choice(names), length, rng)
    while not path:
        path, visited = _chain(world, rng.choice(names), length, rng)
    entity = world.entities[visited[0]]
    start = entity.alias if entity.alias and rng.random() < 1 / 3 else entity.name
    phrase, calls = start, []
    for relation, name in zip(path, [start, *visited[1:]]):
        calls.append({"name": "search", "arguments": {"query": f"{relation} of {name}"}})
        phrase = f"the {relation} of {phrase}"
    answers = [world.entities[name].facts[relation] for name, relation in zip(visited, path)]
    metadata: dict[str, Any] = {
        "hops": length,
        "start": start,
        "path": path,
        "gold_documents": visited,
        "gold_answers": answers,
        "gold_calls": calls,
    }
    question = rng.choice(phrasings).format(phrase)
    return Task("-".join(map(str, key)), (Message("user", question),), answers[-1], tools, metadata)


def _chain(world: LibraryWorld, start: str, length: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """Relations and their documents; ([], []) for a dead end or a cycle."""
    path: list[str] = []
    visited = [start]
    for step in range(1, length + 1):
        kind = world.entities[visited[-1]].kind
        options = [
            name
            for name, relation in RELATIONS.items()
            if relation.kind == kind and (relation.goal if step < length else True)
        ]
        if not options:
            return [], []
        path.append(rng.choice(options))
        visited.append(world.entities[visited[-1]].facts[path[-1]])
    if len(set(visited)) < len(visited):
        return [], []
    return path, visited[:-1]


def _describe(entity: Entity, world: LibraryWorld, rng: random.Random) -> dict[str, str]:
    alias = f", also called {entity.alias}" if entity.alias else ""
    sentences = [f"{entity.name} is a {entity.kind}{alias}."]
    sentences += [f"{label}: {value}." for label, value in entity.facts.items()]
    # A random entity is mentioned, by its alias if it has one: a matching word is not yet the answer.
    mentioned = world.entities[rng.choice(list(world.entities))]
    sentences.append(f"often confused with {mentioned.alias or mentioned.name}.")
    return {"id": entity.name, "title": entity.name, "text": " ".join(sentences)}


def _chronicle(world: LibraryWorld, rng: random.Random) -> list[dict[str, str]]:
    names = list(world.entities)
    people = [name for name in names if world.entities[name].kind == "person"]
    made = []
    for year in rng.sample(range(1400, 1400 + len(names)), len(names) // CHRONICLES):
        entries = [
            f"in the year {year} {rng.choice(people)} {rng.choice(DEEDS)} {rng.choice(names)}." for _ in range(3)
        ]
        made.append({"id": f"year {year}", "title": f"year {year}", "text": " ".join(entries)})
    return made
