"""An invented library to search in, and questions of one to four hops whose answers stand nowhere else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.library.entities import RELATIONS, Entity, LibraryWorld, build_world

__all__ = ["PHRASINGS", "Split", "documents", "tasks"]

Split = Literal["train", "test"]
PHRASINGS = ("What is {0}?", "Find {0}.", "{0}?")
CHRONICLES = 4
"""Entities for each page of the chronicle, whose entries name people and places and answer nothing."""
DEEDS = ("visited", "left", "praised", "painted", "dreamt of", "wrote a letter about")


def documents(*, seed: int = 0, size: int = 400) -> list[dict[str, str]]:
    """Write the books of an invented world: one document an entity, and a chronicle that only distracts.

    A document has the entity's name as id and title, says what kind of thing it is, its alias where it has one, and
    its facts in a fixed order, each "label: answer."; it has at most 200 characters, which is what `search` shows of a
    result. Other documents name the entity too, sometimes by its alias, so that a name found is not yet the answer.
    The chronicle's pages ("year 1512") tell of visits that no question asks about.

    Args:
        seed: of the world; the same seed and size give the same text. It is not the seed of the tasks.
        size: about how many entities, 60 to 20,000.

    Returns:
        Objects with id, title and text, all lower-case ASCII, sorted by id, for `build_index`.

    Raises:
        InputError: a size out of range.

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
    """Make questions about the world that `documents(seed=world, size=size)` describes.

    A question chains relations from a named entity to the answer: "What is the river of the birthplace of tolven?".
    The answer is one lower-case word or a number. One in three questions whose start has an alias uses the alias.

    Train and test share no fact: the world is two halves whose entities never name each other, and a chain stays in
    its half, whatever seed and count. Both halves are in the same documents, so that a test measures searching, not
    what was learnt by heart.

    Args:
        count: how many, >= 1. Short chains are few (of one hop about 3 an entity) and come again in long lists.
        seed: the same seed gives the same tasks, and the first k of them do not depend on count.
        split: train or test.
        hops: how many facts a question needs, each 1 to 4; drawn evenly.
        world: seed of the world.
        size: of the world.
        tools: names of the tools offered; None: all that the environment has.
        phrasings: formats of the question, `{0}` is what is asked for.

    Returns:
        Tasks with the answer as text and metadata: hops; start (the name the question uses); path (the relations,
        first step first); gold_documents (ids, in the order they are needed); gold_answers (of each step;
        the last is the answer); gold_calls ([{"name": "search", "arguments": {"query": ...}}], one a hop).

    Raises:
        TaskError: count below 1. InputError: another argument out of range.

    Example:
        "What is the river of the birthplace of tolven?" has the path ["birthplace", "river"], the documents
        ["tolven", "kemi"] and, where kemi lies on the luta, the answer "luta".
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    if split not in ("train", "test") or not phrasings or not hops or not set(hops) <= {1, 2, 3, 4}:
        raise InputError(f"split must be train or test, hops 1 to 4, and a phrasing is needed: {split}, {list(hops)}")
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
    asked, calls = start, []
    for relation, name in zip(path, [start, *visited[1:]]):
        calls.append({"name": "search", "arguments": {"query": f"{relation} of {name}"}})
        asked = f"the {relation} of {asked}"
    answers = [world.entities[name].facts[relation] for name, relation in zip(visited, path)]
    metadata: dict[str, Any] = {
        "hops": length,
        "start": start,
        "path": path,
        "gold_documents": visited,
        "gold_answers": answers,
        "gold_calls": calls,
    }
    question = rng.choice(phrasings).format(asked)
    return Task("-".join(map(str, key)), (Message("user", question),), answers[-1], tools, metadata)


def _chain(world: LibraryWorld, start: str, length: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """Relations and the documents they stand in; ([], []) where it runs into a dead end or in a circle."""
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
    called = f", also called {entity.alias}" if entity.alias else ""
    sentences = [f"{entity.name} is a {entity.kind}{called}."]
    sentences += [f"{label}: {value}." for label, value in entity.facts.items()]
    # An entity drawn at random is named, by its alias where it has one: a word found is not yet an answer found.
    other = world.entities[rng.choice(list(world.entities))]
    sentences.append(f"often confused with {other.alias or other.name}.")
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
