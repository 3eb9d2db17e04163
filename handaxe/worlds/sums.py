"""Sums and products, half of which a small model can do in its head: the world in which needless calls can be seen."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Task, ToolCall, Turn
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.action_score import right_calls
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts import extract
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.experts import arithmetic_call, calls_then_answer
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["kept_calls", "states_number", "sums"]

WORDS = ("{0} is", "{0} makes", "How much is {0}?", "Say {0}.")
"""In none of these does a task ask."""
TABLES = tuple(
    (words.format(f"{left}{sign}{right}"), str(act(left, right)))
    for words in WORDS
    for sign, act in arithmetic.OPERATORS.items()
    for left in range(10)
    for right in range(10)
)
"""Everything that two one-digit numbers make, which is known by heart before anything is asked."""
START = Start(
    DemonstrationNoise(needed=0.6, needless=0.9, clumsy=0.1), skill=600, steps=100, lessons=TABLES, drill=1000
)


PRECISION = RatioMetric(
    lambda one, outcome: right_calls(one, kept_calls(one.task)), lambda one, outcome: len(one.calls)
)
"""The share of calls that are the reference call."""
ON_HARD = RatioMetric(
    lambda one, outcome: len(one.calls) * float(one.task.metadata["difficulty"] == "hard"),
    lambda one, outcome: len(one.calls),
)
"""The share of calls that are made where a call is needed."""


def sums(*, easy: float = 0.5, last_number: bool = False) -> World:
    """Arithmetic with a calculator. Easy questions have one digit a number and need no call; hard ones two or three.

    The policy that training starts from answers most easy questions in its head and yet calls for most of them.

    Args:
        easy: share of easy questions, 0 to 1.
        last_number: score the last number of an answer instead of its whole text, for models that speak in sentences.

    Returns:
        A world broken down by "difficulty", whose tasks keep their reference call.

    Raises:
        InputError: `easy` out of range, when tasks are made.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return arithmetic.tasks(count=count, seed=seed, split=split, easy=easy)

    return World(
        name="sums",
        tasks=tasks,
        env=tool_chat,
        correct=answer_score(
            scorer=lambda task, text: float(text.strip() == task.answer),
            extract=extract.last_number if last_number else extract.final_text,
        ),
        tools=(calculator,),
        by=("difficulty",),
        answered=states_number,
        reference=kept_calls,
        expert=calls_then_answer(_calls),
        start=START,
        gauges={"call_precision": PRECISION, "calls_on_hard": ON_HARD, "used_tools": USED_TOOLS},
    )


def states_number(turn: Turn) -> bool:
    """Whether the text of a turn holds a digit: an answer, in worlds where answers are numbers."""
    return any(character.isdigit() for character in turn.parsed.text)


def kept_calls(task: Task) -> tuple[ToolCall, ...]:
    """The calls that a task keeps as reference in its metadata, under "gold_calls"."""
    return tuple(ToolCall(one["name"], one["arguments"]) for one in task.metadata["gold_calls"])


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    if task.metadata["difficulty"] == "easy" and facts.get("sure", True):
        return ()
    return arithmetic_call(task.metadata["expression"], facts["tools"])
