"""Generated knowledge base of people and relations, with distractors, and questions of 1 to 4 hops."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Split

__all__ = ["KnowledgeBase", "RELATIONS", "build_facts", "chain_task", "fact_documents", "tasks"]

RELATIONS = ("ally", "boss", "heir", "idol")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


class KnowledgeBase(NamedTuple):
    """Facts and people of a generated knowledge base.

    facts: (name, relation) -> name. halves: people in training questions and in test questions; no fact connects them.
    namesakes: people in no question, named like a person of a half except for the last letter, with other facts.
    """

    facts: Mapping[tuple[str, str], str]
    halves: tuple[tuple[str, ...], tuple[str, ...]]
    namesakes: tuple[str, ...]


@functools.lru_cache(maxsize=8)
def build_facts(
    *, seed: int, size: int, distractors: int, relations: tuple[str, ...] = RELATIONS, digits: bool = False
) -> KnowledgeBase:
    """Invent people with an ally, a boss, an heir and an idol.

    Args:
        seed: equal arguments give equal facts.
        size: people in questions, 16 to 900; a quarter is the test half.
        distractors: namesakes per person, 0 to 4: a query with one wrong letter finds the facts of another person.
        relations: names of the relations.
        digits: names are numbers of four digits, such as 4071, which the tiny policy can copy without training.

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
            candidates = [name[:-1] + last for last in lasts if last != name[-1]]
            twins = rng.sample(candidates, distractors)
            namesakes += twins
            for one in (name, *twins):
                facts |= {(one, relation): rng.choice([x for x in half if x != name]) for relation in relations}
    return KnowledgeBase(facts, halves, tuple(namesakes))


def fact_documents(known: KnowledgeBase, *, brief: bool) -> list[dict[str, str]]:
    """Create a document per fact, sorted by id, for `build_index`.

    The id names person and relation, and the text repeats both: a query in these words ranks the fact above a fact with
    the person as its answer.

    Args:
        known: the facts.
        brief: key words instead of a sentence.

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
    """Create questions: acyclic chains of relations from a person to the answer.

    Args:
        known: the facts.
        key: identifies the knowledge base in task ids.
        count: number of tasks, >= 1.
        seed: equal seeds give equal tasks; the first k tasks are independent of count.
        split: train or test; their people are disjoint.
        hops: number of facts of a question, each 1 to 4; drawn evenly.
        brief: "4071 boss ally?", read from left to right, instead of "Who is the ally of the boss of kemi?".

    Returns:
        Tasks with the answer as text and metadata: hops; path (the relations, first step first); gold_documents (ids in
        order of use); gold_answers (of each step; the last is the answer); gold_calls (one per hop; each query names
        the previous answer).

    Raises:
        TaskError: count below 1. InputError: hops or split out of range.

    Example:
        "kemi boss ally?" has the calls search("kemi boss") and search("luta ally")
    """
    check_count(split, count)
    if not hops or not set(hops) <= {1, 2, 3, 4}:
        raise InputError(f"hops must be 1 to 4: {list(hops)}")
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
    return chain_task("-".join(map(str, key)), visited, path, brief=brief)


def chain_task(id: str, visited: Sequence[str], path: Sequence[str], *, brief: bool) -> Task:
    """Create the question for a chain of relations.

    Args:
        id: id of the task.
        visited: the people on the chain, from the named person to the answer.
        path: the relations, one fewer.
        brief: in key words.
    """
    if brief:
        question = f"{' '.join([visited[0], *path])}?"
    else:
        phrase = visited[0]
        for relation in path:
            phrase = f"the {relation} of {phrase}"
        question = f"Who is {phrase}?"
    keys = [f"{name} {relation}" for name, relation in zip(visited, path)]
    metadata: dict[str, Any] = {
        "hops": len(path),
        "path": list(path),
        "gold_documents": keys,
        "gold_answers": list(visited[1:]),
        "gold_calls": [{"name": "search", "arguments": {"query": one}} for one in keys],
    }
    return Task(id, (Message("user", question),), visited[-1], None, metadata)
