"""A generated knowledge base of people who know each other, with distractors, and questions of one to four hops."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.world import Split

__all__ = ["KnowledgeBase", "RELATIONS", "asked_task", "build_facts", "fact_documents", "tasks"]

RELATIONS = ("ally", "boss", "heir", "idol")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


class KnowledgeBase(NamedTuple):
    """facts: (name, relation) -> name. halves: those of whom training and test ask; no fact leads from one into the
    other. namesakes: of whom nobody asks, each a name of a half but for its last letter, with facts of their own."""

    facts: Mapping[tuple[str, str], str]
    halves: tuple[tuple[str, ...], tuple[str, ...]]
    namesakes: tuple[str, ...]


@functools.lru_cache(maxsize=8)
def build_facts(
    *, seed: int, size: int, distractors: int, relations: tuple[str, ...] = RELATIONS, digits: bool = False
) -> KnowledgeBase:
    """Invent people and whom they call ally, boss, heir and idol.

    Args:
        seed: the same arguments give the same facts.
        size: people of whom questions ask, 16 to 900; a quarter of them is the test half.
        distractors: namesakes of each, 0 to 4: a query with one wrong letter finds somebody else's answer.
        relations: what they are to each other.
        digits: their names are numbers of four digits, such as 4071, which the tiny policy can copy from the start.

    Raises:
        InputError: an argument out of range.

    Example:
        facts[("kemi", "boss")] == "luta"; the namesake "kema" has another boss
    """
    if not 16 <= size <= 900 or not 0 <= distractors <= len(VOWELS) - 1:
        raise InputError(f"a knowledge base has 16 to 900 people with 0 to 4 distractors each: {size}, {distractors}")
    rng = random.Random(derive_seed("hops", seed, size))
    stems = [a + b + c for a in CONSONANTS for b in VOWELS for c in CONSONANTS]
    lasts = VOWELS
    if digits:
        stems, lasts = [str(number) for number in range(100, 1000)], "0123456789"
    names = [stem + rng.choice(lasts) for stem in rng.sample(stems, size)]
    cut = size // 4
    halves = (tuple(names[cut:]), tuple(names[:cut]))
    namesakes: list[str] = []
    facts: dict[tuple[str, str], str] = {}
    for half in halves:
        for name in half:
            others = [name[:-1] + last for last in lasts if last != name[-1]]
            twins = rng.sample(others, distractors)
            namesakes += twins
            for one in (name, *twins):
                facts |= {(one, relation): rng.choice([x for x in half if x != name]) for relation in relations}
    return KnowledgeBase(facts, halves, tuple(namesakes))


def fact_documents(known: KnowledgeBase, *, brief: bool) -> list[dict[str, str]]:
    """One document a fact, sorted by id, for `build_index`.

    The id says whose fact of which kind it is, and the text says it again: a query in these words finds the fact itself
    before the one that has the same words with the name as its answer.

    Args:
        known: the facts.
        brief: in key words; else as a sentence.

    Example:
        {"id": "kemi boss", "text": "kemi boss luta"}, or "The boss of kemi is luta."
    """
    made = []
    for (name, relation), value in sorted(known.facts.items()):
        text = f"{name} {relation} {value}" if brief else f"The {relation} of {name} is {value}."
        made.append({"id": f"{name} {relation}", "text": text})
    return made


def tasks(
    known: KnowledgeBase,
    *,
    key: Sequence[str | int],
    count: int,
    seed: int,
    split: Split,
    hops: Sequence[int],
    brief: bool,
) -> list[Task]:
    """Make questions that follow relations from a named person to the answer, and go in no circle.

    Args:
        known: the facts.
        key: of the knowledge base, for the tasks' ids.
        count: >= 1.
        seed: the same seed gives the same tasks, and the first k of them do not depend on count.
        split: train or test; they ask of different people.
        hops: how many facts a question needs, each 1 to 4; drawn evenly.
        brief: "4071 boss ally?", read from left to right; else "Who is the ally of the boss of kemi?".

    Returns:
        Tasks with the answer as text and metadata: hops; path (the relations, first step first); gold_documents (ids,
        in the order they are needed); gold_answers (of each step; the last is the answer); gold_calls (one a hop, whose
        query names the answer before it).

    Raises:
        TaskError: count below 1. InputError: hops or split out of range.

    Example:
        "kemi boss ally?" has the calls search("kemi boss") and search("luta ally")
    """
    if count < 1:
        raise TaskError(f"a data set of {count} tasks is empty; give a count of 1 or more")
    if split not in ("train", "test") or not hops or not set(hops) <= {1, 2, 3, 4}:
        raise InputError(f"split must be train or test and hops 1 to 4: {split}, {list(hops)}")
    people = known.halves[0 if split == "train" else 1]
    return [_task(known, people, ("hops", *key, seed, split, number), hops, brief) for number in range(count)]


def _task(
    known: KnowledgeBase, people: Sequence[str], key: tuple[str | int, ...], hops: Sequence[int], brief: bool
) -> Task:
    rng = random.Random(derive_seed(*key))
    length = rng.choice(list(hops))
    visited: list[str] = []
    while len(set(visited)) <= length:
        path = [rng.choice(RELATIONS) for _ in range(length)]
        visited = [rng.choice(people)]
        for relation in path:
            visited.append(known.facts[visited[-1], relation])
    return asked_task("-".join(map(str, key)), visited, path, brief=brief)


def asked_task(id: str, visited: Sequence[str], path: Sequence[str], *, brief: bool) -> Task:
    """The question that follows relations from somebody on.

    Args:
        id: of the task.
        visited: whom it leads to, the one that it names first and the answer last.
        path: the relations, one fewer.
        brief: in key words.
    """
    if brief:
        question = f"{' '.join([visited[0], *path])}?"
    else:
        asked = visited[0]
        for relation in path:
            asked = f"the {relation} of {asked}"
        question = f"Who is {asked}?"
    keys = [f"{name} {relation}" for name, relation in zip(visited, path)]
    metadata: dict[str, Any] = {
        "hops": len(path),
        "path": list(path),
        "gold_documents": keys,
        "gold_answers": list(visited[1:]),
        "gold_calls": [{"name": "search", "arguments": {"query": one}} for one in keys],
    }
    return Task(id, (Message("user", question),), visited[-1], None, metadata)
