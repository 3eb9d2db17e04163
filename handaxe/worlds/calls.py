"""Single decisions: which call of `compute` answers the question. Nothing is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task
from handaxe.envs.tool_choice import tool_choice
from handaxe.rewards.graded_call import graded_call
from handaxe.tools.compute import compute
from handaxe.tools.decorator import Tool
from handaxe.tools.state import entries_of, tools_of
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["calls", "deciding"]

START = Start(DemonstrationNoise(needed=0.5, clumsy=0.3))


def calls(*, easy: float = 0.5) -> World:
    """Arithmetic questions to be answered by one call and nothing else; correct means equal to the reference call.

    Args:
        easy: share of questions with one digit a number, 0 to 1; the others have two or three.

    Returns:
        A world of one turn, broken down by "difficulty".

    Raises:
        InputError: `easy` out of range, when tasks are made.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return arithmetic.tasks(count=count, seed=seed, split=split, easy=easy, gold="compute")

    return World(
        name="calls",
        tasks=tasks,
        env=deciding,
        correct=graded_call(grade="coarse", scale=1.0, gold=kept_calls),
        tools=(compute,),
        by=("difficulty",),
        reference=kept_calls,
        expert=_expert,
        start=START,
    )


def deciding(tools: Sequence[Any]) -> EnvFactory:
    """Environments that offer these tools and end with the first turn, without carrying anything out."""
    made = [entry if isinstance(entry, Tool) else entry() for entry in entries_of(tools, whose="rollouts")]
    return tool_choice([tool.schema for tool in tools_of(made)])


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", "", kept_calls(task))
