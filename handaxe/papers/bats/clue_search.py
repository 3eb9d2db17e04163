"""Questions for a person by three clues, and tools: search by one clue, page of a person."""

from __future__ import annotations

import itertools
import random
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from handaxe.core.errors import Failed, InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.hops.knowledge_base import RELATIONS, build_facts

__all__ = ["Clue", "ClueSearch", "clue_search"]

CLUES = 3
PAGE = 2
"""Names on a page of a list."""
DISTRACTORS = 4
QUERY = re.compile(r"(\w+) (\w+) (\d+)")


class Clue(NamedTuple):
    """A relation of the wanted person, and the name at its end."""

    relation: str
    value: str


class ClueSearch(NamedTuple):
    """Tasks and tools over one knowledge base.

    tasks   questions, each with one answer; "clues" in the metadata
    tools   find, a page of a list; open, the facts of a person
    """

    tasks: list[Task]
    tools: tuple[Tool, Tool]


def clue_search(*, count: int, seed: int, size: int = 64, world_seed: int = 0) -> ClueSearch:
    """Draw questions "boss 4071 heir 5526 idol 9931?" for a person in the knowledge base of `hops`.

        find "boss 4071 1"   ->  "boss 4071 1: 1234 8812 more"; "end" instead of "more" on the last page
        open "1234"          ->  "1234: ally 5526 boss 4071 heir 9931 idol 4071"

    A list has five names in the mean, two on a page. The three clues of a question fit one person; two may fit several.

    Args:
        count: tasks, >= 1; drawn without repetition.
        seed: equal seeds give equal tasks.
        size: as in `hops`; the people of the test half, with four namesakes each.
        world_seed: seed of the knowledge base.

    Raises:
        InputError: count out of range.

    Example:
        clue_search(count=4, seed=0).tools[0].run(ToolCall("find", {"query": "boss 4071 1"}))

    Idea: question with an exploration clue and verification clues, as in BrowseComp, with answers that a rule checks.
    """
    known = build_facts(seed=world_seed, size=size, distractors=DISTRACTORS, digits=True)
    half = set(known.halves[1])
    facts = {key: value for key, value in known.facts.items() if value in half}
    people = list(dict.fromkeys(name for name, _ in facts))
    lists = defaultdict[Clue, list[str]](list)
    for name in people:
        for relation in RELATIONS:
            lists[Clue(relation, facts[name, relation])].append(name)
    choices = [
        (name, clues)
        for name in people
        for relations in itertools.combinations(RELATIONS, CLUES)
        if _fitting(lists, clues := tuple(Clue(relation, facts[name, relation]) for relation in relations)) == {name}
    ]
    if not 1 <= count <= len(choices):
        raise InputError(f"clue_search has 1 to {len(choices)} tasks with size={size}: {count} are asked for")
    drawn = random.Random(derive_seed("clue search", world_seed, size, seed)).sample(choices, count)
    tasks = [_task(f"clues-{world_seed}-{size}-{seed}-{number}", *one) for number, one in enumerate(drawn)]
    return ClueSearch(tasks, _tools(facts, people, lists))


def _fitting(lists: Mapping[Clue, list[str]], clues: tuple[Clue, ...]) -> set[str]:
    return set.intersection(*[set(lists[clue]) for clue in clues])


def _task(id: str, name: str, clues: tuple[Clue, ...]) -> Task:
    question = f"{' '.join(f'{clue.relation} {clue.value}' for clue in clues)}?"
    return Task(id, (Message("user", question),), name, None, {"clues": [list(clue) for clue in clues]})


def _tools(
    facts: Mapping[tuple[str, str], str], people: list[str], lists: Mapping[Clue, list[str]]
) -> tuple[Tool, Tool]:
    @tool
    def find(query: str) -> str:
        """List people by a clue, two on a page.

        Args:
            query: relation, name and page, such as "boss 4071 1".
        """
        asked = QUERY.fullmatch(query.strip())
        if asked is None or asked[1] not in RELATIONS or not int(asked[3]):
            raise Failed(f"give a relation ({', '.join(RELATIONS)}), a name and a page from 1")
        names, page = lists.get(Clue(asked[1], asked[2]), []), int(asked[3])
        shown = names[PAGE * (page - 1) : PAGE * page]
        return " ".join([f"{asked[0]}:", *shown, "more" if PAGE * page < len(names) else "end"])

    @tool
    def open(name: str) -> str:
        """Show the facts of a person.

        Args:
            name: four digits.
        """
        if name not in people:
            raise Failed(f"there is no page {name[:20]!r}")
        return f"{name}: {' '.join(f'{relation} {facts[name, relation]}' for relation in RELATIONS)}"

    return find, open
