"""Sums of up to two steps with a calculator, and demonstrations with too few and too many calls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.call_metrics import REPEATED_CALLS
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["EFFICIENCY", "stepwise_sums"]

START = Start(
    DemonstrationNoise(call_rate=0.8, spurious_rate=0.5, corrupt_rate=0.1), skill=240, steps=40, batch_size=16
)
REPEATED = 0.5
"""Share of the questions in which the expert repeats one of its calls."""


def _efficiency(one: Trajectory, outcome: float) -> float:
    """Correctness per tool call: 1[outcome > 0.5] / max(calls, 1).

    Example:
        (correct, calls) = (1, 2), (0, 1), (1, 1), (1, 0)  ->  0.5, 0, 1, 1
    """
    return float(outcome > 0.5) / max(len(one.calls), 1)


EFFICIENCY = RatioMetric(_efficiency)
"""Mean correctness per tool call, the paper's efficiency; a correct rollout without a call counts 1."""


def stepwise_sums() -> World:
    """Sums with 0, 1 or 2 steps of a calculator; the second step needs the result of the first.

    A third of the questions needs no tool: the factor is 1. Demonstrations of the start policy leave out a fifth of the
    needed calls and guess, repeat a call in half of the questions, call in half of the questions that need no tool, and
    corrupt a tenth of the calls.

    Returns:
        A world broken down by "steps", scored by exact match, with the gauges efficiency and repeated_calls.

    Example:
        "347*1=?": the answer is "347";  "12*34=?": calculator {"expression": "12*34"} returns "408", the answer
        "12*34+56=?": "12*34" returns "408", "408+56" returns "464", the answer

    Idea: questions with no, one or two needed calls, and a start policy that calls too rarely and too often.
    """
    return World(
        name="stepwise_sums",
        tasks=_tasks,
        env=tool_chat,
        correct=exact_match(),
        tools=(calculator,),
        breakdown=("steps",),
        is_answer=is_number_answer,
        reference=reference_calls,
        expert=calls_then_answer(_calls),
        start=START,
        start_turns=4,
        gauges={"efficiency": EFFICIENCY, "repeated_calls": REPEATED_CALLS},
    )


def _tasks(split: Split, count: int, seed: int) -> list[Task]:
    check_count(split, count)
    return [_task(split, index, seed) for index in range(count)]


def _task(split: Split, index: int, seed: int) -> Task:
    rng = random.Random(derive_seed("stepwise sums", seed, split, index))
    steps = rng.randrange(3)
    left, right, more = _numbers(rng, steps)
    while content_split("stepwise sums split", left, right, more) != split:
        left, right, more = _numbers(rng, steps)
    product = left * right
    expression = f"{left}*{right}"
    wanted = [expression] * (steps > 0) + [f"{product}+{more}"] * (steps > 1)
    metadata: dict[str, Any] = {"steps": str(steps), "expression": expression, "gold_calls": [*map(_call, wanted)]}
    question = f"{expression}+{more}=?" if steps > 1 else f"{expression}=?"
    answer = str(product + more)
    return Task(f"stepwise-{split}-{seed}-{index}", (Message("user", question),), answer, None, metadata)


def _numbers(rng: random.Random, steps: int) -> tuple[int, int, int]:
    """Factors and summand of a question; a summand of 0 is not asked."""
    if steps == 0:
        return rng.randrange(10, 1000), 1, 0
    return rng.randrange(10, 100), rng.randrange(11, 100), rng.randrange(10, 100) if steps > 1 else 0


def _call(expression: str) -> dict[str, Any]:
    return {"name": calculator.schema.name, "arguments": {"expression": expression}}


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    """Calls of the expert: of an unsure one also without need, and one call twice in a share of the questions."""
    wanted = [*reference_calls(task)]
    if not wanted and not facts.get("sure", True):
        wanted = [ToolCall(calculator.schema.name, {"expression": task.metadata["expression"]})]
    rng = random.Random(derive_seed("repeated", task.id))
    if wanted and rng.random() < REPEATED:
        place = rng.randrange(len(wanted))
        wanted.insert(place, wanted[place])
    return wanted
