"""World `principled_hops`: questions with codes, whose meaning the policy searches in a memory of principles."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.papers.evolver.principle_tool import PrincipleMemory, PrincipleSearch
from handaxe.tools.index.dense import embed
from handaxe.worlds.hops.coded_hops import coded_hops
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["principled_hops"]

START = Start(skill=600, steps=0, batch_size=8, learning_rate=7e-4)
LESSON = "lesson"
"""Metadata of a task with principles of its own: lines of the replies to its searches."""


def principled_hops(
    *, codes: int = 6, lessons: float = 1.0, absent: float = 0.0, size: int = 200, world_seed: int = 0
) -> World:
    """Questions of `coded_hops` without cases in the prompt, and a tool that searches principles.

    The meaning of the codes is the same in all questions, and nothing tells it: a policy learns it from its own
    rollouts, by training, or by the principles that `evolver_rl` distils from them. A lesson is a question whose codes
    have another meaning; its searches reply with lines of its own, so that a cold start learns to read principles, and
    not the codes. The expert guesses the chain of a code outside lessons in the split train.

    Args:
        codes: number of codes, 2 to 26.
        lessons: share of the training questions that are lessons, 0 to 1. The split test has none.
        absent: share of the lessons whose lines do not tell the code of the question; the expert guesses there, too.
        size: people in questions, 16 to 900.
        world_seed: seed of the knowledge base and of the codes.

    Returns:
        A world with the tools `search` and `principles`, and the turns of `coded_hops` after one for the principles.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 K?": principles {"query": "K:"} replies "+ 0000 K: boss ally"; then "K: boss ally" and the search "4071
        boss", then "5526 ally"

    Paper: arXiv:2510.16079 (EvolveR), questions with searches of experience and of documents.
    Differs: generated questions, whose experience is the meaning of a code.
    """
    if not 0 <= lessons <= 1:
        raise InputError(f"lessons is {lessons}: give a share from 0 to 1")
    fixed = coded_hops(codes=codes, shown=0, size=size, world_seed=world_seed)
    fresh = coded_hops(shown=4, absent=absent, fresh=True, size=size, world_seed=world_seed)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        own = fixed.tasks(split, count, seed)
        if split == "test":
            return own
        taught = fresh.tasks(split, count, seed)
        drawn = [random.Random(derive_seed("lesson", seed, n)).random() < lessons for n in range(count)]
        return [_lesson(b) if lesson else _unknown(a) for a, b, lesson in zip(own, taught, drawn, strict=True)]

    return replace(
        fixed,
        name="principled_hops",
        tasks=tasks,
        env=_env,
        tools=(*fixed.tools, PrincipleMemory(PrincipleStore(embed))),
        expert=_asking(fixed.need("expert")),
        start=START,
        start_turns=6,
    )


def _env(tools: Sequence[Any]) -> EnvFactory:
    """Conversation with tools; in a lesson the searches of principles reply with its own lines."""
    plain = tool_chat(tools)

    def make(task: Task) -> Env:
        if LESSON not in task.metadata:
            return plain(task)
        lines = [(line, None) for line in task.metadata[LESSON]]

        def search() -> PrincipleSearch:
            return PrincipleSearch(lambda query: lines)

        return tool_chat([search if isinstance(one, PrincipleMemory) else one for one in tools])(task)

    return make


def _lesson(task: Task) -> Task:
    """The task with the cases of its prompt as principles of nobody's question."""
    *before, asked = task.messages
    *cases, question = asked.content.split("\n")
    lines = [" ".join([mark, "0000", rest]) for mark, _, rest in (case.split(" ", 2) for case in cases)]
    said = replace(asked, content=question)
    return replace(task, messages=(*before, said), metadata={**task.metadata, LESSON: lines})


def _unknown(task: Task) -> Task:
    return replace(task, metadata={**task.metadata, "known": False})


def _asking(inner: Expert) -> Expert:
    """Expert that searches principles in its first turn, unless the question names its relations."""

    def expert(task: Task, facts: Facts) -> Message:
        turn = facts["turn"]
        if "principles" not in facts["tools"] or task.metadata["code"] == "plain":
            return inner(task, facts)
        if turn == 0:
            return Message("assistant", "", (ToolCall("principles", {"query": f"{task.metadata['code']}:"}),))
        return inner(task, {**facts, "turn": turn - 1})

    return expert
