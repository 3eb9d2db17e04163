"""Sums with a calculator and explained answers; demonstrations leave out steps that the tool took."""

from __future__ import annotations

import random
import re

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["explained_sums", "gold_lines", "split_answer", "stated_lines"]

LINE = re.compile(r"(\d{1,4})\+(\d{1,4})=(\d{1,4})")
MARK = ":"
"""Stands between the explanation and the answer."""
TERMS = 3
SUMS = tuple((f"{a}+{b}", f"{a}+{b}={a + b}") for a in range(1, 9 * (TERMS - 1) + 1) for b in range(1, 10))
"""Every line, in a wording of no task."""
START = Start(skill=450, steps=0, batch_size=16, warmup=SUMS, warmup_steps=150)
CALLING = 0.75
"""Share of the questions with a calculator in which the expert calls it."""
OFFERED = {"yes": (calculator.schema.name,), "no": ()}


def explained_sums(*, substituted: float = 0.7) -> World:
    """Sums of 3 digits, answered by the lines of the sum and the value; two thirds offer a calculator.

    In three quarters of the questions with a calculator, the expert calls it for each line of the sum. In a share of
    these, its explanation leaves out the lines: the tool result replaces the reasoning. Without calls, the explanation
    has all lines. The answer alone decides correctness.

    Args:
        substituted: share of the questions with calls whose demonstration leaves out the lines, 0 to 1.

    Returns:
        A world broken down by "offered" (yes or no). Gauges: miss_rate (share of the sum's lines that the explanation
        lacks) and step_accuracy (share of the stated lines that are true).

    Raises:
        InputError: a share outside 0 to 1.

    Example:
        "4+7+3=?", two calls: "4+7" returns "11", "11+3" returns "14"; the answer "4+7=11,11+3=14:14", or, with the
        lines of the tool left out, ":14"

    Idea: solutions with tool results as evidence and as substitute in one start policy, as arXiv:2511.10899 describes.
    """
    if not 0 <= substituted <= 1:
        raise InputError(f"explained_sums takes a share substituted from 0 to 1, not {substituted}")

    def expert(task: Task, facts: Facts) -> Message:
        rng = random.Random(derive_seed("explained", task.id))
        lines = gold_lines(task)
        called = len(lines) if facts["tools"] and rng.random() < CALLING else 0
        left_out = called if rng.random() < substituted else 0
        if facts["turn"] < called:
            a, b, _ = lines[facts["turn"]]
            return Message("assistant", "", (ToolCall(calculator.schema.name, {"expression": f"{a}+{b}"}),))
        told = ",".join(f"{a}+{b}={c}" for a, b, c in lines[left_out:])
        return Message("assistant", f"{told}{MARK}{task.answer}")

    return World(
        name="explained_sums",
        tasks=_tasks,
        env=tool_chat,
        correct=outcome(lambda one: float(split_answer(one.final_text)[1] == one.task.answer)),
        tools=(calculator,),
        breakdown=("offered",),
        is_answer=is_text_answer,
        expert=expert,
        start=START,
        gauges={
            "miss_rate": RatioMetric(
                lambda one, right: float(len(set(gold_lines(one.task)) - set(stated_lines(one)))),
                lambda one, right: float(len(gold_lines(one.task))),
            ),
            "step_accuracy": RatioMetric(
                lambda one, right: float(sum(a + b == c for a, b, c in stated_lines(one))),
                lambda one, right: float(len(stated_lines(one))),
            ),
        },
    )


def gold_lines(task: Task) -> list[tuple[int, int, int]]:
    """Lines of a sum, from left to right.

    Example:
        "4+7+3"  ->  (4, 7, 11), (11, 3, 14)
    """
    terms = [int(term) for term in task.metadata["expression"].split("+")]
    return [(sum(terms[:k]), term, sum(terms[: k + 1])) for k, term in enumerate(terms) if k]


def stated_lines(one: Trajectory) -> list[tuple[int, int, int]]:
    """Lines in the texts of a rollout, true or not; calls and tool results are no lines."""
    found = [numbers for turn in one.turns for numbers in LINE.findall(turn.parsed.text)]
    return [(int(a), int(b), int(c)) for a, b, c in found]


def split_answer(text: str) -> tuple[str, str]:
    """Explanation and answer of a text.

    Example:
        "4+7=11,11+3=14:14"  ->  "4+7=11,11+3=14" and "14";  "14"  ->  "" and "14"
    """
    explanation, _, answer = text.rpartition(MARK)
    return explanation.strip(), answer.strip()


def _tasks(split: Split, count: int, seed: int) -> list[Task]:
    check_count(split, count)
    return [_task(split, index, seed) for index in range(count)]


def _task(split: Split, index: int, seed: int) -> Task:
    rng = random.Random(derive_seed("explained sums", seed, split, index))
    expression = ""
    while not expression or content_split("explained sums", expression) != split:
        expression = "+".join(str(rng.randint(1, 9)) for _ in range(TERMS))
    offered = "no" if rng.randrange(3) == 0 else "yes"
    answer = str(sum(int(term) for term in expression.split("+")))
    metadata = {"expression": expression, "offered": offered}
    messages = (Message("user", f"{expression}=?"),)
    return Task(f"explained-{split}-{seed}-{index}", messages, answer, OFFERED[offered], metadata)
