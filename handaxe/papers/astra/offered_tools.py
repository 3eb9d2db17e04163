"""Tools that training tasks offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order

__all__ = ["Offered", "offered_tools"]

Offered = Literal["distractors", "needed"]


def offered_tools(offered: Offered = "distractors") -> Callable[[list[Task], int], Curriculum]:
    """Make the curriculum of training tasks with their distractors, or with needed tools alone.

    Args:
        offered: "distractors" keeps the tasks; "needed" offers the tools of metadata["needed"].

    Returns:
        A function (training tasks, seed) -> curriculum in order, for `Method.tasks`.

    Raises:
        InputError: another value.

    Example:
        a task that needs town, with town_old and clock: "needed" offers town alone

    Paper: arXiv:2601.21558 (ASTRA), irrelevant tools in training; without them is its comparison.
    Differs: nothing.
    """
    if offered not in ("distractors", "needed"):
        raise InputError(f"unknown tools {offered!r}; give distractors or needed")

    def tasks(found: list[Task], seed: int) -> Curriculum:
        alone = [replace(task, tools=tuple(task.metadata["needed"])) for task in found if offered == "needed"]
        return in_order(alone or found, seed=seed)

    return tasks
