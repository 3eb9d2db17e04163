"""Demonstrations of two reasoning modes: think before a rare call, or call at once and often."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.worlds.world import Expert, Facts

__all__ = ["Mode", "mode_expert"]

Mode = Literal["deliberative", "reactive"]


def mode_expert(expert: Expert, *, mode: Mode) -> Expert:
    """Turn an expert of sums into a deliberative or a reactive one.

        deliberative   a call only if the expert needs one, after words: the expression and its difficulty
        reactive       a call wherever a call is possible (facts["sure"] False), without words

    No call of either fails by construction.

    Args:
        expert: of the world, whose tasks have "expression" and "difficulty".
        mode: "deliberative" or "reactive".

    Raises:
        InputError: another mode.

    Example:
        deliberative: "12*34 hard" with the call, then "408"; "7" for 3+4, without a call. reactive: a call for both

    Paper: arXiv:2510.11701, deliberative mode (few calls after longer thought) and reactive mode (many short ones).
    Differs: modes are demonstrated here; the paper observes them in models of different pretraining.
    """
    if mode not in ("deliberative", "reactive"):
        raise InputError(f"mode is deliberative or reactive, not {mode!r}")

    def spoken(task: Task, facts: Facts) -> Message:
        message = expert(task, {**facts, "sure": mode == "deliberative"})
        if mode == "reactive" or not message.calls:
            return message
        return replace(message, content=f"{task.metadata['expression']} {task.metadata['difficulty']}")

    return spoken
