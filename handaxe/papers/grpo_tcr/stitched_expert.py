"""Stitched trajectories: text solutions with a tool call in the place of the computed part."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.world import Expert, Facts

__all__ = ["stitched_expert"]

SPLIT = "="


def stitched_expert(solution: Callable[[Task], str] | None) -> Expert:
    """Speak a solution with a call pasted in the place of its computed part.

        turn 0   text of the solution up to the last "=", and a calculator call of the expression before it
        turn 1   the answer

    Every solution gets the call, whether the policy needs one or not, and no turn reasons about the call, looks at an
    error or tries again: the solution was written without tools.

    Args:
        solution: task -> worked solution in words, with "=" before the computed part, such as `World.solution`.

    Raises:
        InputError: by the expert, for a world without solutions, or a solution without "=".

    Example:
        solution "12*34=408": "12*34=" with calculator("12*34"), and after "408" the answer "408"

    Paper: arXiv:2510.11701, stitched synthetic trajectories: tool calls replace steps of text solutions.
    Differs: one step of a solution; the paper's baseline data have several.
    """

    def expert(task: Task, facts: Facts) -> Message:
        if facts["turn"]:
            return Message("assistant", str(task.answer))
        text, found, _ = ("" if solution is None else solution(task)).rpartition(SPLIT)
        if not found:
            raise InputError(f"the solution of task {task.id!r} has no {SPLIT!r} to paste a call at")
        return Message("assistant", f"{text}{SPLIT}", (ToolCall("calculator", {"expression": text.split()[-1]}),))

    return expert
