"""Classes of difficulty: answered without tools, answered with tools, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup, Task

__all__ = ["CLASSES", "DifficultyClass", "difficulty_classes", "sort_tasks", "success_rates"]

DifficultyClass = Literal["direct", "tool", "hard"]
CLASSES: tuple[DifficultyClass, ...] = ("direct", "tool", "hard")


def success_rates(groups: Sequence[RatedGroup], *, channel: str = "answer") -> dict[str, float]:
    """Success rates of tasks, by id: rollouts with a value above 0.5 of the channel over scored rollouts.

    Returns:
        No entry for a task without a scored rollout.

    Example:
        answers 1, 0, NaN and 1 of task "a"  ->  {"a": 0.6667}

    Idea: pass rates are the measure of difficulty.
    """
    found = dict[str, float]()
    for one in groups:
        value_G = np.asarray(one.scores.channels[channel], np.float64)
        known_G = np.isfinite(value_G)
        if known_G.any():
            found[one.group.task.id] = float((value_G[known_G] > 0.5).mean())
    return found


def difficulty_classes(
    direct: Mapping[str, float], with_tools: Mapping[str, float], *, least: float = 0.5
) -> dict[str, DifficultyClass]:
    """Sort tasks into classes.

        direct   success rate without tools >= least          a sample without tools
        tool     else, a success with tools                   a sample with tools
        hard     neither                                      for reinforcement learning alone

    Args:
        direct: success rates without tools, by task.
        with_tools: success rates with tools and hints, likewise.
        least: above 0, at most 1.

    Returns:
        Classes of the tasks with a direct rate; a task without a rate with tools counts as 0 there.

    Raises:
        InputError: least out of range.

    Example:
        direct a 0.75, b 0, c 0 and with tools b 0.25, c 0  ->  a direct, b tool, c hard

    Paper: arXiv:2505.16410 (Tool-Star), classes of difficulty of its data synthesis.
    Unconfirmed: the success rate that counts as correct.
    Differs: nothing else that is known.
    """
    if not 0 < least <= 1:
        raise InputError(f"least is {least}; give a share above 0, up to 1")
    return {
        task: "direct" if rate >= least else "tool" if with_tools.get(task, 0.0) > 0 else "hard"
        for task, rate in direct.items()
    }


def sort_tasks(
    tasks: Sequence[Task], classes: Mapping[str, DifficultyClass], with_tools: Mapping[str, float]
) -> list[Task]:
    """Order the tasks of reinforcement learning from easy to hard: class tool by falling success rate, then hard.

    Args:
        tasks: all; ties keep this order. Tasks of class direct, and tasks without a class, are left out.
        classes, with_tools: see `difficulty_classes`.

    Returns:
        The tasks with their class as metadata "class"; all tasks with a class if none is left.

    Example:
        a direct, b tool 0.25, c hard, d tool 0.75  ->  d, b, c

    Paper: arXiv:2505.16410 (Tool-Star), data from easy to hard.
    Differs: in the paper the hard class alone is for reinforcement learning; here tool follows direct in it, since the
    first step needs groups with a success.
    """
    known = [one for one in tasks if one.id in classes]
    chosen = [one for one in known if classes[one.id] != "direct"] or known
    order = sorted(chosen, key=lambda one: (CLASSES.index(classes[one.id]), -with_tools.get(one.id, 0.0)))
    return [_labelled(one, classes[one.id]) for one in order]


def _labelled(task: Task, found: DifficultyClass) -> Task:
    return Task(task.id, task.messages, task.answer, task.tools, {**task.metadata, "class": found})
