"""Two links to follow in a table of digits."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split, World

__all__ = ["SIZE", "links", "path"]

SIZE = 4
"""Digits of a table: place k, from 1, holds where k leads to, another digit."""


def links() -> World:
    """Tables of four digits, and a digit to start from; the answer is the start and the digit two links further.

    Returns:
        A world with "table", "start" and "other", another start with another end, in the metadata. No question is in
        both splits.

    Example:
        "3421 1": 1 leads to 3, and 3 to 2, so the answer is "12"
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number) for number in range(count)]

    return World(
        name="links",
        tasks=tasks,
        env=tool_chat,
        correct=exact_match(normalise=str.strip),
        is_answer=is_text_answer,
        expert=lambda task, facts: Message("assistant", str(task.answer)),
        start_turns=1,
    )


def path(table: Sequence[int], start: int) -> tuple[int, int]:
    """Return the digits one and two links after a start.

    Example:
        ([3, 4, 2, 1], 1) -> (3, 2)
    """
    middle = table[start - 1]
    return middle, table[middle - 1]


def _task(split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("links", split, seed, number))
    digits = range(1, SIZE + 1)
    while True:
        table = [rng.choice([digit for digit in digits if digit != place]) for place in digits]
        start, other = rng.sample(digits, 2)
        end = path(table, start)[1]
        if end != path(table, other)[1] and _split(table, start) == split:
            break
    metadata = {"table": table, "start": start, "other": other}
    question = f"{''.join(map(str, table))} {start}"
    return Task(f"links-{split}-{seed}-{number}", (Message("user", question),), f"{start}{end}", (), metadata)


def _split(table: Sequence[int], start: int) -> Split:
    return content_split("links split", *table, start)
