"""Multi-hop questions with codes for chains of relations; cases in the prompt define the codes."""

from __future__ import annotations

import functools
import itertools
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.hops.knowledge_base import RELATIONS, KnowledgeBase, build_facts, chain_task
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["case_line", "coded_hops", "searched_path", "with_cases"]

PATHS = (*itertools.product(RELATIONS), *itertools.product(RELATIONS, repeat=2))
"""Chains of one and of two relations."""
START = Start(skill=120, steps=0, batch_size=8, learning_rate=7e-4)
FAILED_SHARE = 0.25
"""Share of shown cases that are failed attempts, in tasks of the cold start."""
MOST_CODES, MOST_SHOWN = 26, 8


def coded_hops(
    *,
    codes: int = 16,
    shown: int = 4,
    absent: float = 0.0,
    plain: float = 0.0,
    fresh: bool = False,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions of `hops` whose relations are a code, such as "4071 K?"; a code is a chain of one or two relations.

    The prompt may begin with cases: earlier questions, each with the searched chain and the outcome. Cases alone define
    the codes: a policy without training on the codes needs a case of the same code.

    Args:
        codes: number of codes, 2 to 26; the first half stands for one relation, the others for two.
        shown: maximum number of cases in a prompt, 0 to 8; the number is drawn evenly. 0 leaves the cases to
            `with_cases`. One in four is a failed attempt.
        absent: share of the prompts with cases that have no successful case of the question's code. The expert then
            guesses a chain.
        plain: share of the questions that name their relations, as in `hops`.
        fresh: draw the meaning of all codes again for each task, as for a cold start that teaches to read cases;
            otherwise the meaning is the same in all tasks of both splits.
        size: people in questions, 16 to 900.
        world_seed: seed of the knowledge base and of the codes.

    Returns:
        A world broken down by "code" ("plain" for a question without a code), scored by exact match. The expert states
        the remaining chain beside each search. It has a start if `fresh`.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "+ 2320 K: boss ally\\n4071 K?": the expert says "K: boss ally" and searches "4071 boss", then
        "5526 ally"
    """
    if not 2 <= codes <= MOST_CODES or not 0 <= shown <= MOST_SHOWN:
        raise InputError(f"coded_hops has 2 to {MOST_CODES} codes and shows 0 to {MOST_SHOWN}: {codes}, {shown}")
    if not 0 <= absent <= 1 or not 0 <= plain <= 1:
        raise InputError(f"absent and plain are shares from 0 to 1: {absent}, {plain}")
    inner = hops(lengths=(1, 2), notes=True, size=size, world_seed=world_seed)
    known = build_facts(seed=world_seed, size=size, distractors=1, digits=True)
    key = ("coded", world_seed, size, codes, shown, absent, plain, int(fresh))

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        people = known.halves[0 if split == "train" else 1]
        made = []
        for number in range(count):
            name = "-".join(map(str, (*key, split, seed, number)))
            rng = random.Random(derive_seed(name))
            meaning = _meaning(codes, derive_seed(name, "codes") if fresh else world_seed)
            task = _question(known, people, name, meaning, rng, plain=plain)
            made.append(_shown(task, people, meaning, rng, most=shown, absent=absent))
        return made

    return replace(
        inner,
        name="coded_hops",
        tasks=tasks,
        breakdown=("code",),
        expert=_planning(inner.need("expert"), known),
        start=START if fresh else None,
        start_model="small",
        exploration=None,
    )


def case_line(question: str, path: Sequence[str], reward: float) -> str:
    """Write a case for a prompt: mark, question and searched chain.

    Example:
        case_line("2320 K?", ("boss", "ally"), 1.0) == "+ 2320 K: boss ally"
    """
    return " ".join(["+" if reward > 0.5 else "-", f"{question.removesuffix('?')}:", *path])


def with_cases(task: Task, lines: Sequence[str]) -> Task:
    """Return the task with cases before its question.

    Example:
        lines "+ 2320 K: boss ally" and question "4071 K?"  ->  "+ 2320 K: boss ally\\n4071 K?"
    """
    *before, question = task.messages
    return replace(task, messages=(*before, replace(question, content="\n".join([*lines, question.content]))))


def searched_path(trajectory: Trajectory) -> tuple[str, ...]:
    """Return the relations that a rollout searched, in order; a search that names no relation counts nothing.

    Example:
        searches "4071 boss" and "5526 ally"  ->  ("boss", "ally")
    """
    words = [str(call.arguments.get("query", "")).split() for call in trajectory.calls]
    return tuple(word[-1] for word in words if word and word[-1] in RELATIONS)


@functools.lru_cache(maxsize=4096)
def _meaning(count: int, seed: int) -> Mapping[str, tuple[str, ...]]:
    """Draw code -> chain; the first half has one relation."""
    rng = random.Random(derive_seed("codes", seed))
    names = rng.sample(string.ascii_uppercase, count)
    return {name: rng.choice(PATHS[:4] if 2 * n < count else PATHS[4:]) for n, name in enumerate(names)}


def _chain(known: KnowledgeBase, people: Sequence[str], path: Sequence[str], rng: random.Random) -> list[str]:
    """Draw people along a chain without a repetition."""
    while True:
        visited = [rng.choice(people)]
        for relation in path:
            visited.append(known.facts[visited[-1], relation])
        if len(set(visited)) == len(visited):
            return visited


def _question(
    known: KnowledgeBase,
    people: Sequence[str],
    name: str,
    meaning: Mapping[str, tuple[str, ...]],
    rng: random.Random,
    *,
    plain: float,
) -> Task:
    named = rng.random() < plain
    code = rng.choice(list(meaning))
    path = rng.choice(PATHS) if named else meaning[code]
    visited = _chain(known, people, path, rng)
    task = chain_task(name, visited, path, brief=True)
    said = task.messages[0].content if named else f"{visited[0]} {code}?"
    metadata = {**task.metadata, "code": "plain" if named else code, "known": True}
    return replace(task, messages=(Message("user", said),), metadata=metadata)


def _shown(
    task: Task,
    people: Sequence[str],
    meaning: Mapping[str, tuple[str, ...]],
    rng: random.Random,
    *,
    most: int,
    absent: float,
) -> Task:
    """Insert cases before the question, including a successful case of the question's code unless absent."""
    if not most:
        return task
    own = task.metadata["code"]
    is_known = own == "plain" or rng.random() >= absent
    others = [code for code in meaning if code != own]
    lines = []
    for code in (rng.choice(others) for _ in range(rng.randint(0, most - 1))):
        lines.append(_drawn_case(people, code, meaning[code], rng, failed=rng.random() < FAILED_SHARE))
    if own != "plain":
        if is_known:
            lines.append(_drawn_case(people, own, meaning[own], rng, failed=False))
        if len(lines) < most and rng.random() < FAILED_SHARE:
            lines.append(_drawn_case(people, own, meaning[own], rng, failed=True))
    rng.shuffle(lines)
    made = with_cases(task, lines)
    return replace(made, metadata={**made.metadata, "known": is_known})


def _drawn_case(people: Sequence[str], code: str, path: tuple[str, ...], rng: random.Random, *, failed: bool) -> str:
    searched = rng.choice([one for one in PATHS if one != path]) if failed else path
    return case_line(f"{rng.choice(people)} {code}?", searched, float(not failed))


def _planning(inner: Expert, known: KnowledgeBase) -> Expert:
    """Expert that states the chain of a code in its first turn; it guesses the chain of a code that no case shows."""

    def expert(task: Task, facts: Facts) -> Message:
        code, turn = task.metadata["code"], facts["turn"]
        if code == "plain":
            return inner(task, facts)
        path, asked = task.metadata["path"], task.messages[-1].content.rpartition("\n")[2].split()[0]
        if not task.metadata["known"]:
            path = random.Random(derive_seed("guess", task.id)).choice(PATHS)
        for relation in path[:turn]:
            asked = known.facts[asked, relation]
        if turn >= len(path) or "search" not in facts["tools"]:
            return Message("assistant", asked)
        call = ToolCall("search", {"query": f"{asked} {path[turn]}"})
        return Message("assistant", " ".join([asked if turn else f"{code}:", *path[turn:]]), (call,))

    return expert
