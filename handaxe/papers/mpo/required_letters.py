"""Open requests: a line that uses the required letters, and no more."""

from __future__ import annotations

import random
from itertools import combinations

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split, Start, World

__all__ = ["LETTERS", "line_score", "required_letters"]

LETTERS = "abcdefgh"
REQUIRED = 3
"""Letters of a request."""
LONGEST = 5
"""Letters of a careless line at most."""
ON_TOPIC = 0.6
"""Probability that a letter of a careless line is a required one."""
START = Start(skill=300, steps=0, batch_size=16, learning_rate=2e-3)


def required_letters(*, careless: float = 0.0) -> World:
    """Requests for a line with three required letters of a to h, in any order.

    Many lines meet a request, so the task has no reference answer. The score is `line_score`, from 0 to 1.

    Args:
        careless: share of the tasks, 0 to 1, for which the expert writes one to five letters, some 60 % of them
            required ones and possibly repeated, so that a policy taught by it has something to learn.

    Returns:
        A world without reference answers. No set of letters is in both splits. Gauges: quality (`line_score`) and
        letters (length of the line).

    Example:
        "use: bdf": "dbf" scores 1, "db" and "dbfa" 0.667, "bbbb" 0

    Idea: an open-ended request whose quality is computable.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        own = [letters for letters in combinations(LETTERS, REQUIRED) if _split(letters) == split]
        return [_task(own, split, seed, number, careless) for number in range(count)]

    return World(
        name="required_letters",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(_score),
        is_answer=is_text_answer,
        expert=lambda task, facts: Message("assistant", str(task.metadata["demonstrated"])),
        start=START,
        start_turns=1,
        gauges={
            "quality": RatioMetric(lambda one, right: _score(one)),
            "letters": RatioMetric(lambda one, right: float(len(one.final_text.strip()))),
        },
    )


def line_score(line: str, required: str) -> float:
    """Score a line by its required letters, less one for each further character.

        score = max(0, found - (n - found)) / R        found: different required letters in the line

    Args:
        line: of n characters.
        required: R different letters.

    Returns:
        From 0 to 1.

    Example:
        required bdf: "fbd" 1, "fb" 0.667, "fbdd" 0.667, "bbbbbb" 0 (1 found, 5 further)

    Idea: each flaw of a line costs, so that a rubric that overlooks one can be exploited.
    """
    found = len(set(line) & set(required))
    return max(0, 2 * found - len(line)) / len(required)


def _score(one: Trajectory) -> float:
    return line_score(one.final_text.strip(), one.task.metadata["required"])


def _task(own: list[tuple[str, ...]], split: Split, seed: int, number: int, careless: float) -> Task:
    rng = random.Random(derive_seed("required letters", split, seed, number))
    required = "".join(rng.sample(rng.choice(own), REQUIRED))
    line = _write_carelessly(required, rng) if rng.random() < careless else required
    metadata = {"required": required, "demonstrated": line}
    message = Message("user", f"use: {required}")
    return Task(f"required_letters-{split}-{seed}-{number}", (message,), None, (), metadata)


def _write_carelessly(required: str, rng: random.Random) -> str:
    """Draw one to five letters, each a required one with probability 0.6."""
    count = rng.randint(1, LONGEST)
    return "".join(rng.choice(required if rng.random() < ON_TOPIC else LETTERS) for _ in range(count))


def _split(letters: tuple[str, ...]) -> Split:
    return content_split("required letters split", *letters)
