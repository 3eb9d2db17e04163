"""Single decisions: a call of `compute` answers an arithmetic question. No call is executed."""

from __future__ import annotations

from handaxe.core.records import Message, Task
from handaxe.rewards.graded_call import graded_call
from handaxe.tools.compute import compute
from handaxe.worlds.parts import arithmetic_tasks
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.single_turn import single_turn
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["calls"]

START = Start(DemonstrationNoise(call_rate=0.5, corrupt_rate=0.3))


def calls(*, easy: float = 0.5) -> World:
    """Arithmetic questions to answer with a single call; correct means equal to the reference call.

    Args:
        easy: share of questions with one-digit operands, 0 to 1; the others have two or three digits.

    Returns:
        A world of one turn, broken down by "difficulty".

    Raises:
        InputError: `easy` out of range, when tasks are made.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return arithmetic_tasks.tasks(count=count, seed=seed, split=split, easy=easy, gold="compute")

    return World(
        name="calls",
        tasks=tasks,
        env=single_turn,
        correct=graded_call(grade="coarse", scale=1.0, gold=reference_calls),
        tools=(compute,),
        breakdown=("difficulty",),
        reference=reference_calls,
        expert=_expert,
        start=START,
    )


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", "", reference_calls(task))
