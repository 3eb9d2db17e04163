"""The library's questions with names said by facts and numbers by ranges, and where to look for what they say."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.library import tasks as library_tasks
from handaxe.worlds.library.entities import build_world
from handaxe.worlds.library.obscured_questions import Level, ObscuredQuestions, Question, by_heart, obscured_questions
from handaxe.worlds.world import Split

__all__ = ["WIDTHS", "library_questions", "obscured_tasks", "question_of"]

WIDTHS = {"birth year": 25, "founding year": 25, "printing year": 25, "length": 50, "height": 500}
"""Of the range that takes a number's place: years, and lengths and heights as the library has them."""
MOST = 64
"""Questions looked at for each that is wanted."""


@functools.lru_cache(maxsize=8)
def library_questions(*, world: int, size: int, known: float = 0.0, heart: int = 0) -> ObscuredQuestions:
    """What obscures the questions of a library.

    Args:
        world: seed of the library.
        size: of the library.
        known: share of its facts that somebody has by heart; what they can answer is not kept.
        heart: seed of which.
    """
    made = build_world(seed=world, size=size)
    kinds = {name: entity.kind for name, entity in made.entities.items()}
    facts = {name: entity.facts for name, entity in made.entities.items()}
    plain = obscured_questions(kinds=kinds, facts=facts, widths=WIDTHS)
    if not known:
        return plain
    return obscured_questions(kinds=kinds, facts=facts, widths=WIDTHS, direct=by_heart(plain, share=known, seed=heart))


def question_of(task: Task, questions: ObscuredQuestions) -> Question:
    """A library's task as what can be obscured; it begins at the entity itself, whichever name the task calls it."""
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
    """Make the library's questions, and obscure each by one of so many injections.

    Facts lead from no half of the library to the other, so what a held-out question says is not told by any question
    or answer of training, and the other way round. Questions that cannot be obscured so far are left out.

    Args:
        count, seed, split, hops, world, size: as of `library_tasks.tasks`.
        injections: how many, 0 or more, drawn evenly.
        blurs: numbers said as ranges, in questions with injections.
        known: share of the facts that somebody has by heart; questions that they can answer are left out.

    Returns:
        Tasks as the library's, whose metadata says besides how many "injections" there are. "gold_documents",
        "gold_answers" and "gold_calls" begin with what the question describes, the innermost first.

    Raises:
        TaskError: count below 1. InputError: another argument out of range, or too few questions can be made.

    Example:
        "Find the length of the river whose source is the mountain whose height is between 4500 and 4999 ..."
    """
    questions = library_questions(world=world, size=size, known=known)
    if not injections or min(injections) < 0 or blurs < 0:
        raise InputError(f"injections are 0 or more each, and blurs 0 or more: {list(injections)} and {blurs}")
    looked, made = 0, list[Task]()
    while len(made) < count:
        seen, looked = looked, 2 * max(looked, count)
        if looked > MOST * count:
            raise InputError(
                f"of {seen} questions only {len(made)} can be obscured by {list(injections)} injections and {blurs} "
                f"blurs so that somebody who knows {known:g} of the facts does not answer them: ask for less"
            )
        asked = library_tasks.tasks(count=looked, seed=seed, split=split, hops=hops, world=world, size=size)
        found = (_obscured(task, questions, injections, blurs) for task in asked[seen:])
        made += [task for task in found if task is not None]
    return made[:count]


def _obscured(task: Task, questions: ObscuredQuestions, injections: Sequence[int], blurs: int) -> Task | None:
    seed = derive_seed("library obscured", task.id)
    depth = random.Random(seed).choice(list(injections))
    plain = question_of(task, questions)
    made = questions(plain, injections=depth, blurs=blurs if depth else 0, seed=seed)
    if made is None:
        return None
    name = f"{task.id}-obscured-{depth}-{blurs}"
    if not depth:
        return replace(task, id=name, metadata={**task.metadata, "injections": 0})
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
    return replace(task, id=name, messages=(Message("user", text),), metadata=metadata)


def _searches(question: Question) -> list[dict[str, Any]]:
    """What finds the entity of each level that is described, the innermost first: what is said of it exactly, with more
    passages to look through where a range is said as well."""
    out = []
    for k, level in reversed(list(enumerate(question.levels))):
        facts = [f"{one.label} {one.value}" for one in level.clauses if not one.high]
        facts += [f"{level.link} {question.levels[k + 1].name}"] if level.link else []
        if facts:
            out.append({"query": " ".join([level.kind, *facts]), "k": 10 if any(c.high for c in level.clauses) else 3})
    return out
