"""Arithmetic questions, for mental arithmetic (easy) or a calculator (hard)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from operator import add, mul, sub
from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["PHRASINGS", "problem_split", "tasks"]

PHRASINGS = ("{0}=?", "What is {0}?", "Compute {0}.", "{0} =")
OPERATORS: dict[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul}
HARD = (("*", 2, 2), ("*", 3, 2), ("*", 3, 3), ("+", 3, 3), ("-", 3, 3))
"""Operator, and digits of both operands."""


def tasks(
    *,
    count: int,
    seed: int,
    split: Split = "train",
    easy: float = 0.5,
    gold: Literal["calculator", "compute"] = "calculator",
    tools: tuple[str, ...] | None = None,
    phrasings: Sequence[str] = PHRASINGS,
) -> list[Task]:
    """Create arithmetic tasks.

    Easy: two one-digit numbers and + - or *. Hard: products of 2x2, 3x2 and 3x3 digits, sums and differences of 3
    and 3. A problem is an operator and its operands (in either order for + and *). Each problem belongs to one split,
    independent of seed, count and phrasing; about one in four is in test.

    Args:
        count: number of tasks, >= 1. Easy problems are few (about 190) and repeat.
        seed: equal seeds give equal tasks; the first k tasks are independent of count.
        split: train or test.
        easy: share of easy tasks, 0 to 1; drawn for each task.
        gold: the tool of the call in `metadata["gold_calls"]`.
        tools: names of the offered tools; None: all tools of the environment.
        phrasings: formats of the question, `{0}` is the expression.

    Returns:
        Tasks with the answer as text and metadata: expression ("12*34"), difficulty ("easy" or "hard"), digits (of
        both operands together, 2 to 6), gold_calls ([{"name": ..., "arguments": {...}}]).

    Raises:
        TaskError: count below 1. InputError: another argument out of range.

    Example:
        {"expression": "12*34", "difficulty": "hard", "digits": 4, "gold_calls":
        [{"name": "calculator", "arguments": {"expression": "12*34"}}]} has the answer "408".
    """
    check_count(split, count)
    if not 0 <= easy <= 1 or not phrasings:
        raise InputError(f"give easy 0 to 1 and one phrasing or more: {easy}, {list(phrasings)}")
    return [_task(i, seed, split, easy, gold, tools, phrasings) for i in range(count)]


def _task(
    index: int,
    seed: int,
    split: Split,
    easy: float,
    gold: str,
    tools: tuple[str, ...] | None,
    phrasings: Sequence[str],
) -> Task:
    rng = random.Random(derive_seed("arithmetic", seed, split, index))
    difficulty = "easy" if rng.random() < easy else "hard"
    left, operator, right = _problem(rng, difficulty)
    while _split(left, operator, right) != split:
        left, operator, right = _problem(rng, difficulty)
    expression = f"{left}{operator}{right}"
    metadata: dict[str, Any] = {
        "expression": expression,
        "difficulty": difficulty,
        "digits": len(str(left)) + len(str(right)),
        "gold_calls": [{"name": gold, "arguments": _arguments(gold, left, operator, right)}],
    }
    question = rng.choice(phrasings).format(expression)
    answer = str(OPERATORS[operator](left, right))
    return Task(f"arithmetic-{split}-{seed}-{index}", (Message("user", question),), answer, tools, metadata)


def _problem(rng: random.Random, difficulty: str) -> tuple[int, str, int]:
    if difficulty == "easy":
        return rng.randrange(10), rng.choice("+-*"), rng.randrange(10)
    operator, *sizes = rng.choice(HARD)
    left, right = (rng.randrange(10 ** (digits - 1), 10**digits) for digits in sizes)
    return left, operator, right


def problem_split(expression: str) -> Split:
    """Return the split of a problem.

    Args:
        expression: two whole numbers >= 0 and + - or * between them, such as "12*34".
    """
    operator = next(sign for sign in OPERATORS if sign in expression)
    left, right = expression.split(operator)
    return _split(int(left), operator, int(right))


def _split(left: int, operator: str, right: int) -> Split:
    operands = (left, right) if operator == "-" else (min(left, right), max(left, right))
    return content_split("arithmetic split", operator, *operands)


def _arguments(gold: str, left: int, operator: str, right: int) -> dict[str, Any]:
    if gold == "compute":
        return {"left": left, "operator": operator, "right": right}
    return {"expression": f"{left}{operator}{right}"}
