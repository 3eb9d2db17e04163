"""Arithmetic with a calculator that is wrong now and then, where an answer says how sure it is."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.calibrated.calibration_gauges import calibration_figures
from handaxe.papers.calibrated.confidence import stated_confidence, without_confidence
from handaxe.rewards.answer_score import answer_score
from handaxe.tools.calculator import calculator
from handaxe.tools.noisy import noisy
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.sums import kept_calls, states_number
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["confident_sums"]

START = Start(DemonstrationNoise(needed=0.9, clumsy=0.1), steps=60)
PRODUCTS = tuple(
    {"expression": task.metadata["expression"]}
    for task in arithmetic.tasks(count=200, seed=0, easy=0.0)
    if "*" in task.metadata["expression"]
)
"""What the calculator answers instead."""


def confident_sums(*, noise: float = 0.5) -> World:
    """Sums, differences and products of two or three digits; an answer is a number and how sure it is, "408 c7".

    The calculator is exact about sums and differences. What it says of a product is, with some chance, the result of
    another product. An answer is right whatever is said of how sure it is.

    Args:
        noise: chance that the reply to a product is that to another one, 0 to 1.

    Returns:
        A world broken down by "operation" (product, or sum for the others), with the figures of calibration. Its expert
        takes the calculator at its word, so that it is right on every task where `noise` is 0. How sure it is has
        nothing to do with the question and is mostly too high, which is what the policy that training starts from does.

    Raises:
        InputError: `noise` outside 0 to 1.

    Example:
        "12*34=?": calculator says "408" or, as often, "1015"; the answer "408 c5" is right
    """
    if not 0 <= noise <= 1:
        raise InputError(f"noise is {noise}; give 0 to 1")
    found = calibration_figures(stated_confidence)
    return World(
        name="confident_sums",
        tasks=_tasks,
        env=tool_chat,
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer), extract=without_confidence),
        tools=(noisy(calculator, chance=partial(_of_products, noise), queries=PRODUCTS),),
        by=("operation",),
        answered=states_number,
        reference=kept_calls,
        expert=_expert,
        start=START,
        gauges=found.gauges,
        statistics=found.statistics,
    )


def _tasks(split: Split, count: int, seed: int) -> list[Task]:
    made = arithmetic.tasks(count=count, seed=seed, split=split, easy=0.0)
    return [
        Task(one.id, one.messages, one.answer, one.tools, {**one.metadata, "operation": _operation(one)})
        for one in made
    ]


def _operation(task: Task) -> str:
    return "product" if "*" in task.metadata["expression"] else "sum"


def _of_products(noise: float, given: Mapping[str, Any]) -> float:
    return noise if "*" in str(given.get("expression")) else 0.0


def _expert(task: Task, facts: Facts) -> Message:
    calls = arithmetic_call(task.metadata["expression"], facts["tools"])
    if facts["turn"] == 0 and calls:
        return Message("assistant", "", calls)
    said = facts["replies"][-1] if facts["replies"] else str(task.answer)
    rng = random.Random(derive_seed("confidence", task.id))
    return Message("assistant", f"{said} c{max(rng.randrange(11), rng.randrange(11))}")
