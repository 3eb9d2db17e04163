"""Labels of steps by continuation: a step is good if a rollout that goes on from it can be correct."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Labelled
from handaxe.core.records import Branch, Group, Scores, Trajectory
from handaxe.rollouts.forking import Choose

__all__ = ["continuation_labels", "turn_continuations"]

NAME = "/branch-"
"""In the id of a branch of `rollouts.forking`, before its number."""


def turn_continuations(*, count: int = 4) -> Choose:
    """Fork a rollout `count` times after each turn but the last.

    Args:
        count: continuations of a step, >= 1.

    Returns:
        Trajectory -> places for `rollouts.forking(at=...)`, turn after turn.

    Raises:
        InputError: count below 1.

    Example:
        a rollout of three turns, count 2: two branches after turn 0, then two after turn 1

    Paper: arXiv:2412.01981 (implicit PRM), its comparison Math-Shepherd (arXiv:2312.08935).
    Differs: a step is a turn.
    """
    if count < 1:
        raise InputError(f"count is {count}; give 1 continuation or more")

    def places(trunk: Trajectory) -> list[Branch]:
        return [Branch(trunk.id, turn.sequence, turn.start) for turn in trunk.turns[1:] for _ in range(count)]

    return places


def continuation_labels(group: Group, outcome_G: np.ndarray, *, count: int) -> list[Labelled]:
    """Label the turns of the forked rollouts of a group.

        y_k = 1 if a branch after turn k is correct, or the rollout itself; else 0          for turns before the last
        y_N = correctness of the rollout                                                    for the last turn

    Args:
        group: rollouts of `rollouts.forking(at=turn_continuations(count=count))`, each with its branches.
        outcome_G: [G] 1 for correct.
        count: continuations of a step.

    Returns:
        A group of one for each forked rollout, whose `Scores.turns` are the labels.

    Example:
        a wrong rollout of two turns, with branches after turn 0 of which one of two is correct  ->  labels 1, 0

    Paper: arXiv:2312.08935 (Math-Shepherd), hard estimation.
    Differs: the rollout counts as one more continuation of its own steps.
    """
    outcomes = {one.id: float(value) for one, value in zip(group, outcome_G, strict=True)}
    found = list[Labelled]()
    for one in group:
        if NAME in one.id:
            continue
        label_N = np.full(len(one.turns), outcomes[one.id])
        for k in range(len(one.turns) - 1):
            numbers: Sequence[int] = range(k * count, (k + 1) * count)
            label_N[k] = max([outcomes[one.id], *(outcomes.get(f"{one.id}{NAME}{n}", 0.0) for n in numbers)])
        scores = Scores(np.array([outcomes[one.id]]), turns=(label_N,))
        found.append((Group(one.task, (one,), group.step), scores))
    return found
