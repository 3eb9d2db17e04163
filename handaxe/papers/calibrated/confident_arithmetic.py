"""Arithmetic with an unreliable calculator, answered with a confidence."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.papers.calibrated.calibration_gauges import calibration_gauges
from handaxe.papers.calibrated.confidence import stated_confidence, strip_confidence
from handaxe.rewards.answer_score import answer_score
from handaxe.tools.calculator import calculator
from handaxe.tools.noisy import noisy
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts import arithmetic_tasks
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["confident_arithmetic"]

START = Start(DemonstrationNoise(call_rate=0.9, corrupt_rate=0.1), steps=60)
PRODUCTS = tuple(
    {"expression": task.metadata["expression"]}
    for task in arithmetic_tasks.tasks(count=200, seed=0, easy=0.0)
    if "*" in task.metadata["expression"]
)
"""Calls whose results replace the correct ones."""


def confident_arithmetic(*, noise: float = 0.5) -> World:
    """Sums, differences and products of two or three digits; an answer is a number and a confidence, "408 c7".

    The calculator is exact for sums and differences. For a product it returns, with probability `noise`, the result of
    another product. Correctness ignores the confidence.

    Args:
        noise: probability that a product's result is replaced by the result of another product, 0 to 1.

    Returns:
        A world broken down by "operation" (product, or sum for the others), with calibration metrics. Its expert trusts
        the calculator and is correct on every task if `noise` is 0. The expert's confidence, and with it that of the
        start policy, is independent of the question and mostly too high.

    Raises:
        InputError: `noise` outside 0 to 1.

    Example:
        "12*34=?": the calculator returns "408" or, equally often, "1015"; the answer "408 c5" is correct
    """
    if not 0 <= noise <= 1:
        raise InputError(f"noise is {noise}; give 0 to 1")
    exact = arithmetic(easy=0.0)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_with_operation(one) for one in exact.tasks(split, count, seed)]

    found = calibration_gauges(stated_confidence)
    return replace(
        exact,
        name="confident_arithmetic",
        tasks=tasks,
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer), extract=strip_confidence),
        tools=(noisy(calculator, chance=partial(_product_noise, noise), queries=PRODUCTS),),
        breakdown=("operation",),
        expert=_expert,
        start=START,
        gauges=found.gauges,
        statistics=found.statistics,
    )


def _with_operation(task: Task) -> Task:
    operation = "product" if "*" in task.metadata["expression"] else "sum"
    return replace(task, metadata={**task.metadata, "operation": operation})


def _product_noise(noise: float, arguments: Mapping[str, Any]) -> float:
    return noise if "*" in str(arguments.get("expression")) else 0.0


def _expert(task: Task, facts: Facts) -> Message:
    calls = arithmetic_call(task.metadata["expression"], facts["tools"])
    if facts["turn"] == 0 and calls:
        return Message("assistant", "", calls)
    answer = facts["replies"][-1] if facts["replies"] else str(task.answer)
    rng = random.Random(derive_seed("confidence", task.id))
    return Message("assistant", f"{answer} c{max(rng.randrange(11), rng.randrange(11))}")
