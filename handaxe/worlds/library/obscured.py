"""Library questions with descriptions instead of names and ranges instead of numbers, with their searches."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.library import tasks as library_tasks
from handaxe.worlds.library.entities import build_world
from handaxe.worlds.library.obscured_questions import (
    Level,
    ObscuredQuestions,
    Question,
    answerable_from_memory,
    obscured_questions,
)
from handaxe.worlds.world import Split

__all__ = ["ObscuredTask", "WIDTHS", "library_questions", "obscured_task", "obscured_tasks", "task_question"]

WIDTHS = {"birth year": 25, "founding year": 25, "printing year": 25, "length": 50, "height": 500}
"""Width of the range that replaces a number: years, and lengths and heights in library units."""
MAX_TRIES = 64
"""Limit of generated questions per requested question."""


class ObscuredTask(NamedTuple):
    """Task with a description in the place of a name: names that the question hides, and the description."""

    task: Task
    hidden: tuple[str, ...]
    description: str


@functools.lru_cache(maxsize=8)
def library_questions(*, world: int, size: int, known: float = 0.0, heart: int = 0) -> ObscuredQuestions:
    """Create the obfuscation of a library's questions.

    Args:
        world: seed of the library.
        size: size of the library.
        known: share of facts known by heart; questions that are answerable with them are dropped.
        heart: seed of the known facts.
    """
    made = build_world(seed=world, size=size)
    kinds = {name: entity.kind for name, entity in made.entities.items()}
    facts = {name: entity.facts for name, entity in made.entities.items()}
    plain = obscured_questions(kinds=kinds, facts=facts, widths=WIDTHS)
    if not known:
        return plain
    return obscured_questions(
        kinds=kinds, facts=facts, widths=WIDTHS, direct=answerable_from_memory(plain, share=known, seed=heart)
    )


def task_question(task: Task, questions: ObscuredQuestions) -> Question:
    """Convert a library task to a question about the entity itself, not about an alias."""
    start = task.metadata["gold_documents"][0]
    return Question(tuple(task.metadata["path"]), (Level(start, questions.kinds[start]),), str(task.answer))


def obscured_tasks(
    *,
    count: int,
    seed: int,
    split: Split,
    hops: Sequence[int],
    world: int,
    size: int,
    injections: Sequence[int],
    blurs: int,
    known: float,
) -> list[Task]:
    """Create library questions, each obscured by a number of injections.

    No fact connects the halves of the library: neither split's questions and answers reveal descriptions of the other
    split. Questions without enough possible injections are dropped.

    Args:
        count, seed, split, hops, world, size: as in `library_tasks.tasks`.
        injections: numbers of injections, each 0 or more; drawn evenly.
        blurs: numbers replaced by ranges, in questions with injections.
        known: share of facts known by heart; questions that are answerable with them are dropped.

    Returns:
        Library tasks whose metadata also has the number of "injections". "gold_documents", "gold_answers" and
        "gold_calls" begin with the described entities, the innermost first.

    Raises:
        TaskError: count below 1. InputError: another argument out of range, or too few possible questions.

    Example:
        "Find the length of the river whose source is the mountain whose height is between 4500 and 4999 ..."
    """
    questions = library_questions(world=world, size=size, known=known)
    if not injections or min(injections) < 0 or blurs < 0:
        raise InputError(f"injections are 0 or more each, and blurs 0 or more: {list(injections)} and {blurs}")
    limit, made = 0, list[Task]()
    while len(made) < count:
        start, limit = limit, 2 * max(limit, count)
        if limit > MAX_TRIES * count:
            raise InputError(
                f"of {start} questions only {len(made)} can be obscured by {list(injections)} injections and {blurs} "
                f"blurs without being answerable from {known:g} of the facts: ask for less"
            )
        candidates = library_tasks.tasks(count=limit, seed=seed, split=split, hops=hops, world=world, size=size)
        found = (obscured_task(task, questions, injections=injections, blurs=blurs) for task in candidates[start:])
        made += [one.task for one in found if one is not None]
    return made[:count]


def obscured_task(
    task: Task, questions: ObscuredQuestions, *, injections: Sequence[int], blurs: int
) -> ObscuredTask | None:
    """Obscure a library task by a number of injections, drawn from `injections` by the id of the task, and of blurs.

    Returns:
        The task under another id; None if the question is given up.

    Example:
        "the river of kemi" -> "the river of the town whose mayor is tolven", which hides kemi
    """
    seed = derive_seed("library obscured", task.id)
    depth = random.Random(seed).choice(list(injections))
    plain = task_question(task, questions)
    made = questions(plain, injections=depth, blurs=blurs if depth else 0, seed=seed)
    if made is None:
        return None
    name = f"{task.id}-obscured-{depth}-{blurs}"
    if not depth:
        return ObscuredTask(replace(task, id=name, metadata={**task.metadata, "injections": 0}), (), "")
    text = random.Random(seed).choice(library_tasks.PHRASINGS).format(made.words)
    gold = task.metadata
    calls = [{"name": "search", "arguments": arguments} for arguments in _searches(made)]
    first = {"name": "search", "arguments": {"query": f"{made.path[0]} of {made.levels[0].name}"}}
    described = [level.name for level in made.levels[: len(calls)]][::-1]
    metadata: dict[str, Any] = {
        **gold,
        "start": made.levels[-1].name if not made.levels[-1].clauses else "",
        "injections": depth,
        "gold_documents": [*described, *gold["gold_documents"]],
        "gold_answers": [*described, *gold["gold_answers"]],
        "gold_calls": [*calls, first, *gold["gold_calls"][1:]],
    }
    hidden = tuple(dict.fromkeys((gold["start"], *described)))
    made_task = replace(task, id=name, messages=(Message("user", text),), metadata=metadata)
    return ObscuredTask(made_task, hidden, replace(made, path=()).words)


def _searches(question: Question) -> list[dict[str, Any]]:
    """The search for each described entity, the innermost first: its exact facts, with more passages for a description
    with a range.
    """
    out = []
    for k, level in reversed(list(enumerate(question.levels))):
        facts = [f"{one.label} {one.value}" for one in level.clauses if not one.high]
        facts += [f"{level.link} {question.levels[k + 1].name}"] if level.link else []
        if facts:
            out.append({"query": " ".join([level.kind, *facts]), "k": 10 if any(c.high for c in level.clauses) else 3})
    return out
