"""Open requests: a word of two digits that ends as asked."""

from __future__ import annotations

import random
from itertools import combinations

from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.worlds.judging.links import SIZE
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split, World

__all__ = ["words"]

DIGITS = "".join(str(digit) for digit in range(1, SIZE + 1))


def words() -> World:
    """Requests for a word of two different digits that ends in a given one, with a first digit as example.

    Several words meet a request, so the task has no reference answer: a judge needs a rubric.

    Returns:
        A world with scores 1 and 0; "first" and "last" are in the metadata. No pair of digits is in both splits, in
        either order.

    Example:
        "w: 1..4" asks for a word such as "14": "24" scores 1 too, and "41", "44" and "124" 0
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        own = [pair for pair in combinations(DIGITS, 2) if _split(*pair) == split]
        return [_task(own, split, seed, number) for number in range(count)]

    return World(
        name="words",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(_score),
        is_answer=is_text_answer,
        expert=lambda task, facts: Message("assistant", task.metadata["first"] + task.metadata["last"]),
        start_turns=1,
    )


def _task(own: list[tuple[str, str]], split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("words", split, seed, number))
    first, last = rng.sample(rng.choice(own), 2)
    metadata = {"first": first, "last": last}
    asked = f"w: {first}..{last}"
    return Task(f"words-{split}-{seed}-{number}", (Message("user", asked),), None, (), metadata)


def _score(one: Trajectory) -> float:
    word = one.final_text.strip()
    formed = len(word) == 2 and len(set(word)) == 2 and set(word) <= set(DIGITS)
    return float(formed and word.endswith(one.task.metadata["last"]))


def _split(one: str, two: str) -> Split:
    return content_split("words split", one, two)
